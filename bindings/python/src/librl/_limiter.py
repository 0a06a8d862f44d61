"""Limiter: the service of rl.h, with the calls that ask it.

close() needs no lock: a call that is inside holds a reference to the handle, and whoever
drops the last one frees the service.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Callable, Iterable, NamedTuple

from . import _decorator, _many, _waiting
from ._clock import ManualClock
from ._decision import Decision, decided, headers
from ._errors import Error, Status, require
from ._names import Name, encoded
from ._native import ffi, lib

# Looking these up each time would be a tenth of a check.
_check = lib.py_check
_allow = lib.py_allow

_ARGUMENT = (
    "a name has more than 65,535 bytes, a cost is less than 1, "
    "or those of check_all are not 1 to 8 requests"
)


class Stats(NamedTuple):
    """What a limiter (with shared memory: all of its zone) has done and holds; see rl_stats."""

    allowed: int
    denied: int
    errors: int
    keys: int
    capacity: int
    evicted_idle: int
    evicted_live: int
    refused_full: int
    recovered_locks: int
    memory_bytes: int
    log_entries: int
    log_capacity: int


class Limiter:
    """Rules, and the counters of all who have asked.

    Any threads may use one at the same time, and a forked child may go on using it. Only
    wait() and its like let go of the GIL. A user and an API are str or bytes; a cost is a
    number of units from 1 to 2**63 - 1.
    """

    def __init__(
        self,
        rules: Name | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        clock: ManualClock | None = None,
    ) -> None:
        """Takes rules as text, from the file at path, or both. Raises Error where they are
        wrong, or where memory or a shared zone cannot be had."""
        config = _config(rules, path)
        if clock is not None:
            require(lib.rl_config_set_clock(config, clock._clock))
        out, error = ffi.new("rl_service **"), ffi.new("rl_error *")
        require(lib.rl_service_new(config, out, error), error)
        self._service: Any = ffi.gc(out[0], lib.rl_service_free)

    def close(self) -> None:
        """Ends the limiter. Calls that are inside end as they would have, later ones raise
        Error; the memory goes with the last of them. Twice is fine."""
        self._service = ffi.NULL

    @property
    def closed(self) -> bool:
        return bool(self._service == ffi.NULL)

    def __enter__(self) -> Limiter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def check(self, user: Name, api: Name = "", cost: int = 1) -> Decision:
        """May this user call this API now? Takes the cost if so; a refusal takes nothing."""
        # Written out rather than shared with its likes: this is the call that must be fast.
        if isinstance(user, str):
            user = user.encode("utf-8", "surrogateescape")
        if isinstance(api, str):
            api = api.encode("utf-8", "surrogateescape")
        raw = _check(self._service, user, len(user), api, len(api), cost)
        verdict = raw.verdict
        if verdict < 0:
            self._require(verdict)
        decision = Decision()
        decision.allowed = verdict > 0
        decision._raw = raw
        return decision

    def allow(self, user: Name, api: Name = "", cost: int = 1) -> bool:
        """check() for who needs no more than yes or no."""
        if isinstance(user, str):
            user = user.encode("utf-8", "surrogateescape")
        if isinstance(api, str):
            api = api.encode("utf-8", "surrogateescape")
        verdict: int = _allow(self._service, user, len(user), api, len(api), cost)
        if verdict < 0:
            self._require(verdict)
        return verdict > 0

    def peek(self, user: Name, api: Name = "", cost: int = 1) -> Decision:
        """What check() would answer; takes nothing."""
        return self._ask(lib.py_peek, user, api, cost)

    def charge(self, user: Name, api: Name = "", cost: int = 1) -> Decision:
        """Takes a cost that is known only afterwards, whatever the answer."""
        return self._ask(lib.py_charge, user, api, cost)

    def refund(self, user: Name, api: Name = "", cost: int = 1) -> None:
        """Gives a cost back, for a request that came to nothing."""
        self._require(lib.py_refund(self._service, *_names(user, api), cost))

    def reset(self, user: Name, api: Name = "") -> None:
        """Forgets the counters that are this pair's own."""
        self._require(lib.rl_reset(self._service, *_names(user, api)))

    def check_many(self, requests: Iterable[_many.Request]) -> list[Decision]:
        """Checks each (user, api) or (user, api, cost) by itself. A wrong one among them
        raises Error, and leaves all uncharged."""
        return _many.ask(self, lib.py_check_many, requests)

    def check_all(self, requests: Iterable[_many.Request]) -> list[Decision]:
        """Checks 1 to 8 of them as one: all are charged, or none. all() of the answers is
        the answer; those that refuse are false."""
        return _many.ask(self, lib.py_check_all, requests)

    def wait(
        self, user: Name, api: Name = "", cost: int = 1, timeout: float | None = None
    ) -> Decision:
        """Waits until the request passes, in the order in which threads came, and takes its
        cost. Where that is sure to take more than timeout seconds (None: no limit), or never
        comes, it refuses at once. In the main thread Ctrl-C ends it, as any signal handler
        that raises does."""
        return _waiting.wait(self, user, api, cost, timeout)

    async def wait_async(
        self, user: Name, api: Name = "", cost: int = 1, timeout: float | None = None
    ) -> Decision:
        """wait() for a task: sleeps in the event loop by real time, and looks again. Who
        waits so is not in a queue."""
        return await _waiting.wait_async(self, user, api, cost, timeout)

    def limit(
        self,
        key: Name | Callable[..., Name] = "",
        api: Name | Callable[..., Name] | None = None,
        cost: int = 1,
    ) -> Callable[[_decorator.F], _decorator.F]:
        """Decorates a function, plain or async, so that it raises Limited where a check
        refuses. key and api are names, or make them of the call's arguments; without api it
        is the function's module and name."""
        return _decorator.limit(self, key, api, cost)

    def reload(
        self, rules: Name | None = None, *, path: str | os.PathLike[str] | None = None
    ) -> None:
        """Takes new rules, all at once; counters of limits that stay go on. Where they are
        wrong it raises Error, and the old ones stay."""
        error = ffi.new("rl_error *")
        self._require(lib.rl_reload(self._service, _config(rules, path), error), error)

    def explain(self, user: Name, api: Name = "") -> str:
        """The rule that applies, as the line that makes it; several with match = all."""
        for size in (1024, 1 << 22):  # the second holds the longest names, all in quotes
            text = ffi.new("char[]", size)
            status = lib.rl_explain(self._service, *_names(user, api), text, size)
            if status != lib.RL_ERR_MEMORY:
                break
        self._require(status)
        return str(ffi.string(text).decode())

    def stats(self) -> Stats:
        """The numbers of this limiter or of its zone."""
        out = ffi.new("rl_stats *", {"size": ffi.sizeof("rl_stats")})
        self._require(lib.rl_service_stats(self._service, out))
        return Stats(*(getattr(out, field) for field in Stats._fields))

    def prometheus(self) -> str:
        """The same as text for Prometheus, of the type "text/plain; version=0.0.4"."""
        text = ffi.new("char[]", 4096)
        self._require(lib.rl_stats_prometheus(self._service, text, 4096, ffi.NULL))
        return str(ffi.string(text).decode())

    @staticmethod
    def headers(decision: Decision, style: str = "draft") -> dict[str, str]:
        """A decision as fields of an HTTP response: "draft" are RateLimit-Policy and RateLimit
        of the IETF draft, "legacy" X-RateLimit-Limit, -Remaining and -Reset; both have
        Retry-After in a refusal that is worth another try. Empty where no limit applied."""
        return headers(decision, style)

    def _ask(self, call: Any, user: Name, api: Name, cost: int, *more: int) -> Decision:
        raw = call(self._service, *_names(user, api), cost, *more)
        if raw.verdict < 0:
            self._require(raw.verdict)
        return decided(raw)

    def _require(self, status: int, error: Any = None) -> None:
        if status == Status.ARGUMENT:
            raise Error("the limiter is closed" if self.closed else _ARGUMENT, status)
        require(status, error)


def remove_zone(name: str) -> None:
    """Removes the shared memory of this name (that of the setting shared) and all that was
    counted in it. Do it when no process uses it, or when all are about to be restarted."""
    require(lib.rl_zone_unlink(os.fsencode(name)))


def _names(user: Name, api: Name) -> tuple[bytes, int, bytes, int]:
    user, api = encoded(user), encoded(api)
    return user, len(user), api, len(api)


def _config(rules: Name | None, path: str | os.PathLike[str] | None) -> Any:
    """A rl_config of a text and a file."""
    out, error = ffi.new("rl_config **"), ffi.new("rl_error *")
    require(lib.rl_config_new(out))
    config = ffi.gc(out[0], lib.rl_config_free)
    if path is not None:
        require(lib.rl_config_load(config, os.fsencode(path), error), error)
    if rules is not None:
        text = encoded(rules)
        require(lib.rl_config_parse(config, text, len(text), error), error)
    return config
