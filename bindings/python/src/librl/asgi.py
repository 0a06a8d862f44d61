"""ASGI middleware: answers 429 in place of the application where a limit refuses.

    app = librl.asgi.RateLimit(app, limiter, key=lambda scope: ...)
"""

from __future__ import annotations

from typing import Any, Awaitable, Callable, MutableMapping

from ._http import BODY, PLAIN, fields
from ._limiter import Limiter
from ._names import Name

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def client_address(scope: Scope) -> Name:
    """The address of who is connected, which behind a proxy is the proxy; empty where the
    server does not know it."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def path(scope: Scope) -> Name:
    return str(scope["path"])


class RateLimit:
    """Checks HTTP requests before app sees them; other scopes pass unchecked.

    key and api make the user and the API of a scope; a key of None lets a request pass
    unchecked. style is that of Limiter.headers, or None for no fields but Retry-After.
    """

    def __init__(
        self,
        app: App,
        limiter: Limiter,
        *,
        key: Callable[[Scope], Name | None] = client_address,
        api: Callable[[Scope], Name] = path,
        style: str | None = "draft",
    ) -> None:
        self.app = app
        self.limiter = limiter
        self.key = key
        self.api = api
        self.style = style

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = self.key(scope) if scope["type"] == "http" else None
        if user is None:
            return await self.app(scope, receive, send)
        decision = self.limiter.check(user, self.api(scope))
        if not decision:
            return await _refuse(send, fields(decision, self.style))
        return await self.app(scope, receive, _with_fields(send, fields(decision, self.style)))


def _encoded(fields: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in fields.items()]


def _with_fields(send: Send, fields: dict[str, str]) -> Send:
    async def send_with_fields(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), *_encoded(fields)]
            message = {**message, "headers": headers}
        await send(message)

    return send_with_fields


async def _refuse(send: Send, fields: dict[str, str]) -> None:
    headers = _encoded({**PLAIN, **fields})
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})
