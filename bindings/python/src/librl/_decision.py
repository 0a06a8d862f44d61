"""The answer to a request.

It keeps the struct that the library has filled, and reads a field when it is asked for:
most programs look at one or two.
"""

from __future__ import annotations

import math
from typing import Any

from ._errors import error_of
from ._native import ffi, lib

_STYLES = {"draft": lib.RL_HEADERS_DRAFT, "legacy": lib.RL_HEADERS_LEGACY}


class Decision:
    """Whether a request may go on, and what is left. True when it may."""

    __slots__ = ("_owner", "_raw", "allowed")

    #: whether the request may go on
    allowed: bool
    _raw: Any
    _owner: Any  # the memory that _raw lies in, where that is not its own

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def limit(self) -> int:
        """The quota of the limit that decided, or its burst; 2**64 - 1 when unlimited."""
        return int(self._raw.limit)

    @property
    def remaining(self) -> int:
        """What is left of it after this request, in whole units; 2**64 - 1 when unlimited."""
        return int(self._raw.remaining)

    @property
    def retry_after(self) -> float:
        """Seconds until the same request passes if nobody else asks: 0.0 when it has passed,
        math.inf when it never can. Of charge, seconds until a cost of 1 passes."""
        return _seconds(self._raw.retry_after_ms)

    @property
    def reset_after(self) -> float:
        """Seconds until the counter is as if never used."""
        return _seconds(self._raw.reset_after_ms)

    @property
    def window(self) -> float:
        """The limit's window in seconds."""
        return _seconds(self._raw.window_ms)

    @property
    def name(self) -> str:
        """The limit's name: what name= says in the rule, else "default" or "limit-1" and on."""
        return str(ffi.string(self._raw.name).decode())

    @property
    def limit_count(self) -> int:
        """How many limits apply, 0 to 8; 0 for unlimited and deny."""
        return int(self._raw.limit_count)

    @property
    def limit_index(self) -> int:
        """Which of them this describes, from 0: the one that refuses longest, else the one
        with the least left."""
        return int(self._raw.limit_index)

    @property
    def denied_by(self) -> tuple[int, ...]:
        """Those of them that refuse, or would if they were not in shadow mode."""
        return tuple(i for i in range(8) if self._raw.denied_by >> i & 1)

    @property
    def shadow(self) -> bool:
        """Whether a limit in shadow mode would have refused."""
        return bool(self._raw.flags & lib.RL_FLAG_SHADOW)

    @property
    def untracked(self) -> bool:
        """Whether there was no room for a counter, so that on-full decided."""
        return bool(self._raw.flags & lib.RL_FLAG_UNTRACKED)

    @property
    def unlimited(self) -> bool:
        """Whether the rule says unlimited."""
        return bool(self._raw.flags & lib.RL_FLAG_UNLIMITED)

    def __repr__(self) -> str:
        return (
            f"Decision(allowed={self.allowed}, limit={self.limit}, remaining={self.remaining}, "
            f"retry_after={self.retry_after}, reset_after={self.reset_after}, name={self.name!r})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (bytes(ffi.buffer(ffi.addressof(self._raw))),)


def decided(raw: Any) -> Decision:
    """The decision in a struct that says whether the call has ended well."""
    verdict = raw.verdict
    if verdict < 0:
        raise error_of(verdict)
    decision = Decision()
    decision.allowed = verdict > 0
    decision._raw = raw
    return decision


def headers(decision: Decision, style: str = "draft") -> dict[str, str]:
    """The decision as fields of an HTTP response."""
    if style not in _STYLES:
        raise ValueError(f"the style of headers is 'draft' or 'legacy', not {style!r}")
    text = ffi.new("char[]", 192)
    lib.py_headers(ffi.addressof(decision._raw), _STYLES[style], text, 192)
    lines = ffi.string(text).decode().splitlines()
    return dict(line.split(": ", 1) for line in lines)


def _seconds(milliseconds: int) -> float:
    return math.inf if milliseconds == lib.RL_NEVER else milliseconds / 1e3


def _from_bytes(data: bytes) -> Decision:
    decision = Decision()
    decision._owner = ffi.new("answer *")
    ffi.memmove(decision._owner, data, len(data))
    decision._raw = decision._owner[0]
    decision.allowed = decision._raw.allowed
    return decision
