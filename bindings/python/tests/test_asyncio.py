"""Tasks wait without blocking a thread."""

import asyncio
import math
import threading
import time

from librl import Limiter


def test_tasks_wait_side_by_side_in_one_thread() -> None:
    limiter = Limiter("default = token-bucket,1,50ms")

    async def main() -> list[bool]:
        users = ("alice", "bob", "alice", "alice")
        waits = (limiter.wait_async(user) for user in users)
        return [bool(decision) for decision in await asyncio.gather(*waits)]

    begun, threads = time.monotonic(), threading.active_count()
    assert asyncio.run(main()) == [True] * 4
    assert time.monotonic() - begun >= 0.099
    assert threading.active_count() == threads
    assert limiter.stats().allowed == 4


def test_a_task_that_would_wait_too_long_is_told_at_once() -> None:
    limiter = Limiter("default = token-bucket,1,1000d\nuser.nobody = deny")
    limiter.check("alice")

    async def main() -> None:
        assert not await limiter.wait_async("alice", timeout=3600)
        assert not await limiter.wait_async("alice", timeout=0)
        assert (await limiter.wait_async("nobody")).retry_after == math.inf

    asyncio.run(asyncio.wait_for(main(), 60))
    assert limiter.stats().denied == 3


def test_a_task_that_is_cancelled_takes_nothing() -> None:
    limiter = Limiter("default = token-bucket,1,1h")
    limiter.check("alice")

    async def main() -> None:
        task = asyncio.ensure_future(limiter.wait_async("alice"))
        await asyncio.sleep(0.01)
        assert task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(asyncio.wait_for(main(), 60))
    assert limiter.stats().allowed == 1
