"""WSGI middleware: answers 429 in place of the application where a limit refuses.

    app = librl.wsgi.RateLimit(app, limiter, key=lambda environ: ...)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable

from ._http import BODY, PLAIN, fields
from ._limiter import Limiter
from ._names import Name

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def client_address(environ: WSGIEnvironment) -> Name:
    """The address of who is connected, which behind a proxy is the proxy; empty where the
    server does not know it."""
    return str(environ.get("REMOTE_ADDR", ""))


def path(environ: WSGIEnvironment) -> Name:
    """The whole path, as the bytes that WSGI carries in the form of Latin-1."""
    text: str = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return text.encode("latin-1")


class RateLimit:
    """Checks requests before app sees them.

    key and api make the user and the API of an environ; a key of None lets a request pass
    unchecked. style is that of Limiter.headers, or None for no fields but Retry-After.
    """

    def __init__(
        self,
        app: WSGIApplication,
        limiter: Limiter,
        *,
        key: Callable[[WSGIEnvironment], Name | None] = client_address,
        api: Callable[[WSGIEnvironment], Name] = path,
        style: str | None = "draft",
    ) -> None:
        self.app = app
        self.limiter = limiter
        self.key = key
        self.api = api
        self.style = style

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        user = self.key(environ)
        if user is None:
            return self.app(environ, start_response)
        decision = self.limiter.check(user, self.api(environ))
        if not decision:
            return _refuse(start_response, fields(decision, self.style))
        return self.app(environ, _with_fields(start_response, fields(decision, self.style)))


def _with_fields(start_response: StartResponse, fields: dict[str, str]) -> StartResponse:
    def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
        return start_response(status, [*headers, *fields.items()], *exc_info)

    return start


def _refuse(start_response: StartResponse, fields: dict[str, str]) -> Iterable[bytes]:
    start_response("429 Too Many Requests", [*PLAIN.items(), *fields.items()])
    return [BODY]
