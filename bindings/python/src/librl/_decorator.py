"""Functions that raise Limited instead of running too often."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

from ._errors import Limited
from ._names import Name

if TYPE_CHECKING:
    from ._limiter import Limiter

F = TypeVar("F", bound=Callable[..., Any])


def limit(
    limiter: Limiter,
    key: Name | Callable[..., Name],
    api: Name | Callable[..., Name] | None,
    cost: int,
) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        name = f"{function.__module__}.{function.__qualname__}" if api is None else api

        def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            user, what = (of(*args, **kwargs) if callable(of) else of for of in (key, name))
            decision = limiter.check(user, what, cost)
            if not decision:
                raise Limited(decision)

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            return function(*args, **kwargs)

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            return await function(*args, **kwargs)

        return cast(F, coroutine if inspect.iscoroutinefunction(function) else plain)

    return decorate
