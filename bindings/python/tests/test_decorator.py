"""Functions that may not be called too often."""

import asyncio
import inspect

import pytest

import librl
from librl import Limiter

RULES = "default = token-bucket,2,1000d"


def test_a_function_is_refused_when_its_limit_is_used_up() -> None:
    limiter = Limiter(RULES)

    @limiter.limit()
    def double(n: int) -> int:
        """Doubles."""
        return 2 * n

    assert [double(4), double(n=5)] == [8, 10]
    with pytest.raises(librl.Limited, match="limited by 'default', retry after") as caught:
        double(6)
    assert caught.value.decision.retry_after > 0
    assert (double.__name__, double.__doc__) == ("double", "Doubles.")
    assert limiter.peek("", f"{__name__}.{double.__qualname__}").remaining == 0


def test_key_and_api_are_names_or_made_of_the_arguments() -> None:
    limiter = Limiter(RULES)

    @limiter.limit(key=lambda user, **_: user, api=lambda user, page=1: f"page {page}")
    def show(user: str, page: int = 1) -> str:
        return user

    @limiter.limit(key="alice", api="page 1", cost=2)
    def everything() -> None:
        pass

    assert [show("alice"), show("bob"), show("alice", page=2)] == ["alice", "bob", "alice"]
    assert limiter.peek("alice", "page 1").remaining == 0
    with pytest.raises(librl.Limited):
        everything()


def test_an_async_function_stays_one() -> None:
    limiter = Limiter(RULES)

    @limiter.limit(key="alice")
    async def answer() -> int:
        return 42

    async def main() -> None:
        assert inspect.iscoroutinefunction(answer)
        assert [await answer(), await answer()] == [42, 42]
        with pytest.raises(librl.Limited):
            await answer()

    asyncio.run(main())


def test_what_a_function_raises_passes_through() -> None:
    limiter = Limiter(RULES)

    @limiter.limit()
    def fail() -> None:
        raise KeyError("its own")

    with pytest.raises(KeyError, match="its own"):
        fail()
