"""Waiting until a request passes: in the library's queue, or in an event loop."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Callable

from ._decision import Decision
from ._names import Name
from ._native import lib

if TYPE_CHECKING:
    from ._limiter import Limiter


def wait(limiter: Limiter, user: Name, api: Name, cost: int, timeout: float | None) -> Decision:
    def acquire(milliseconds: int) -> Decision:
        return limiter._ask(lib.py_acquire, user, api, cost, milliseconds)

    def undo(decision: Decision) -> None:
        if decision and not limiter.closed:
            limiter.refund(user, api, cost)

    milliseconds = _milliseconds(timeout)
    if threading.current_thread() is not threading.main_thread():
        return acquire(milliseconds)
    if milliseconds == 0 or limiter.peek(user, api, cost):
        decision = acquire(0)
        if decision or milliseconds == 0:
            return decision
    return _beside_the_main_thread(lambda: acquire(milliseconds), undo)


def _beside_the_main_thread(
    acquire: Callable[[], Decision], undo: Callable[[Decision], None]
) -> Decision:
    """Python runs signal handlers in the main thread alone, and only while it is in Python:
    the library's wait, which cannot be broken off, goes on elsewhere, and gives back what it
    got when nobody wants it any more."""
    answer: Future[Decision] = Future()

    def run() -> None:
        try:
            decision = acquire()
        except BaseException as error:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(error)
            return
        if answer.set_running_or_notify_cancel():
            answer.set_result(decision)
        else:
            undo(decision)

    threading.Thread(target=run, name="librl-wait", daemon=True).start()
    try:
        return answer.result()
    except BaseException:
        if not answer.cancel() and answer.exception() is None:
            undo(answer.result())
        raise


async def wait_async(
    limiter: Limiter, user: Name, api: Name, cost: int, timeout: float | None
) -> Decision:
    deadline = math.inf if timeout is None else time.monotonic() + timeout

    def is_last(decision: Decision) -> bool:
        at = time.monotonic() + decision.retry_after
        return decision.allowed or at > deadline or math.isinf(at)

    while True:
        # Only a check that may be the answer is one that statistics count.
        decision = limiter.peek(user, api, cost)
        if is_last(decision):
            decision = limiter.check(user, api, cost)
            if is_last(decision):
                return decision
        await asyncio.sleep(max(decision.retry_after, 0.001))


def _milliseconds(timeout: float | None) -> int:
    """As rl_acquire takes it, rounded up."""
    if timeout is None or timeout == math.inf:
        return int(lib.RL_NEVER)
    return max(0, math.ceil(timeout * 1e3))
