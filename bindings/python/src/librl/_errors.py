"""What is raised: Error where a call fails, Limited where a decorated function is refused."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from ._native import ffi, lib

if TYPE_CHECKING:
    from ._decision import Decision


class Status(IntEnum):
    """Why a call failed: the numbers RL_ERR_ of rl.h."""

    ARGUMENT = -1
    CONFIG = -2
    MEMORY = -3
    IO = -4
    ZONE = -5
    STORE = -6
    UNSUPPORTED = -7
    INTERNAL = -8


class Error(Exception):
    """A call failed. A request that is refused is no error."""

    #: a Status; a plain number where the library is newer than this list
    status: int
    #: the line and the column (in bytes) of the rules, from 1; 0 where it lies in no text
    line: int
    column: int

    def __init__(self, message: str, status: int, line: int = 0, column: int = 0) -> None:
        super().__init__(message, status, line, column)
        self.message = message
        self.status = Status(status) if status in set(Status) else status
        self.line = line
        self.column = column

    def __str__(self) -> str:
        if not self.line:
            return self.message
        return f"line {self.line}, column {self.column}: {self.message}"


class Limited(Exception):
    """A call of a function decorated with Limiter.limit was refused."""

    decision: Decision

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision)
        self.decision = decision

    def __str__(self) -> str:
        return f"limited by {self.decision.name!r}, retry after {self.decision.retry_after} s"


def error_of(status: int) -> Error:
    """The error of a call that says nothing but its status."""
    return Error(ffi.string(lib.rl_status_message(status)).decode(), status)


def require(status: int, error: Any = None) -> None:
    """Raises what a call says that did not end well; error is its rl_error, if it has one."""
    if status == 0:
        return
    if error is None or error.status != status:
        raise error_of(status)
    raise Error(ffi.string(error.message).decode(), status, error.line, error.column)
