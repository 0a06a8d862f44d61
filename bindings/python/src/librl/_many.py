"""Many requests in one call: names in one string of bytes, their lengths in an array.

Whatever is done for each request is done by loops of the interpreter's own, where there is
one; else a batch would cost more than its checks one by one.
"""

from __future__ import annotations

from array import array
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Iterable, Tuple, Union

from ._decision import Decision
from ._names import Name
from ._native import ffi

if TYPE_CHECKING:
    from ._limiter import Limiter

#: a user and an API, and the cost where it is not 1
Request = Union[Tuple[Name, Name], Tuple[Name, Name, int]]

_REQUESTS, _ANSWERS = ffi.typeof("rl_request[]"), ffi.typeof("answer[]")
_LENGTHS, _COSTS = ffi.typeof("uint64_t[]"), ffi.typeof("int64_t[]")


def ask(limiter: Limiter, call: Any, requests: Iterable[Request]) -> list[Decision]:
    users, apis, costs = _columns(requests)
    names = [
        name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name
        for name in chain.from_iterable(zip(users, apis))
    ]
    count = len(costs)
    answers = ffi.new(_ANSWERS, count)
    status = call(
        limiter._service,
        ffi.new(_REQUESTS, count),
        b"".join(names),
        ffi.from_buffer(_LENGTHS, array("Q", map(len, names))),
        ffi.from_buffer(_COSTS, array("q", costs)),
        count,
        answers,
    )
    limiter._require(status)
    return _decisions(answers, count)


def _columns(requests: Iterable[Request]) -> Any:
    """Users, APIs and costs; a cost that is left out is 1."""
    columns = list(zip_longest(*requests, fillvalue=1)) or [(), ()]
    if len(columns) == 2:
        columns.append((1,) * len(columns[0]))
    return columns


def _decisions(answers: Any, count: int) -> list[Decision]:
    decisions = []
    for raw in ffi.unpack(answers, count):
        decision = Decision()
        decision.allowed = raw.allowed
        decision._raw = raw
        decision._owner = answers
        decisions.append(decision)
    return decisions
