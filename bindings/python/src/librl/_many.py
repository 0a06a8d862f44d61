"""Many requests in one call: names in one string of bytes, their lengths in an array."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Iterable, Tuple, Union

from ._decision import Decision
from ._names import Name, encoded
from ._native import ffi

if TYPE_CHECKING:
    from ._limiter import Limiter

#: a user and an API, and the cost where it is not 1
Request = Union[Tuple[Name, Name], Tuple[Name, Name, int]]


def ask(limiter: Limiter, call: Any, requests: Iterable[Request]) -> list[Decision]:
    names: list[bytes] = []
    costs: list[int] = []
    for user, api, *cost in requests:
        names += encoded(user), encoded(api)
        costs.append(cost[0] if cost else 1)
    answers = ffi.new("answer[]", len(costs))
    status = call(
        limiter._service,
        ffi.new("rl_request[]", len(costs)),
        b"".join(names),
        ffi.from_buffer("uint64_t[]", array("Q", map(len, names))),
        ffi.from_buffer("int64_t[]", array("q", costs)),
        len(costs),
        answers,
    )
    limiter._require(status)
    return [_part(raw, answers) for raw in ffi.unpack(answers, len(costs))]


def _part(raw: Any, owner: Any) -> Decision:
    decision = Decision()
    decision.allowed = raw.allowed
    decision._raw = raw
    decision._owner = owner
    return decision
