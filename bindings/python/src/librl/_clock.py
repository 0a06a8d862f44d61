"""A clock to set by hand, for tests and for replaying logs."""

from __future__ import annotations

from typing import Any

from ._errors import require
from ._native import ffi, lib


class ManualClock:
    """Stands still until it is set or advanced. One may drive several limiters; any threads
    may use it. Times are seconds since any fixed instant, to the nanosecond."""

    def __init__(self, now: float = 0.0) -> None:
        out = ffi.new("rl_clock **")
        require(lib.rl_clock_new_manual(_nanoseconds(now), out))
        self._clock: Any = ffi.gc(out[0], lib.rl_clock_free)

    def set(self, now: float) -> None:
        """Sets the clock, forwards or backwards."""
        require(lib.rl_clock_set_ns(self._clock, _nanoseconds(now)))

    def advance(self, seconds: float) -> None:
        """Moves the clock forwards. Who waits for a time that has come is woken."""
        require(lib.rl_clock_advance_ns(self._clock, _nanoseconds(seconds)))


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
