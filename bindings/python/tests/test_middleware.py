"""ASGI and WSGI middleware, called as a server calls it."""

import asyncio
from typing import Any, Dict, Iterable, List, Tuple
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import librl.asgi
import librl.wsgi
from librl import Limiter, ManualClock

POLICY = '"default";q=2;w=3600'
Answer = Tuple[int, Dict[str, str], bytes]


def limiter() -> Limiter:
    return Limiter("default = fixed-window,2,1h", clock=ManualClock())


async def asgi_hello(scope: Any, receive: Any, send: Any) -> None:
    start = {"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]}
    await send(start)
    await send({"type": "http.response.body", "body": b"hello"})


def asgi(app: Any, **scope: Any) -> Answer:
    sent: List[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    async def send(message: Any) -> None:
        sent.append(message)

    whole = {"type": "http", "path": "/", "client": ("192.0.2.1", 4711), **scope}
    asyncio.run(app(whole, receive, send))
    start, body = sent
    return start["status"], {k.decode(): v.decode() for k, v in start["headers"]}, body["body"]


def wsgi_hello(environ: Any, start_response: Any) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain"), ("X-Own", "1")])
    return [b"hello"]


def wsgi(app: Any, **environ: Any) -> Answer:
    seen: List[Any] = []

    def start_response(status: str, headers: Any, exc_info: Any = None) -> Any:
        seen.append((int(status.split()[0]), dict(headers)))

    usual = {"REMOTE_ADDR": "192.0.2.1", "QUERY_STRING": "", "SCRIPT_NAME": "", "PATH_INFO": "/"}
    environ = {**usual, **environ}
    setup_testing_defaults(environ)
    body = validator(app)(environ, start_response)
    try:
        whole = b"".join(body)
    finally:
        body.close()  # type: ignore[attr-defined]
    return (*seen[0], whole)


def test_asgi_answers_429_with_the_fields() -> None:
    app = librl.asgi.RateLimit(asgi_hello, limiter())
    status, headers, body = asgi(app)
    assert (status, body, headers["x-own"]) == (200, b"hello", "1")
    assert headers["ratelimit-policy"] == POLICY
    assert headers["ratelimit"] == '"default";r=1;t=3600'
    assert asgi(app)[0] == 200
    status, headers, body = asgi(app)
    assert (status, headers["retry-after"], headers["ratelimit-policy"]) == (429, "3600", POLICY)
    assert int(headers["content-length"]) == len(body) > 0


def test_asgi_limits_by_address_and_path() -> None:
    app = librl.asgi.RateLimit(asgi_hello, limiter())
    assert [asgi(app)[0] for _ in range(3)] == [200, 200, 429]
    assert asgi(app, path="/other")[0] == asgi(app, client=("192.0.2.2", 1))[0] == 200
    assert asgi(app, client=None)[0] == 200


def test_asgi_takes_keys_and_styles() -> None:
    def key(scope: Any) -> Any:
        return None if scope["path"] == "/health" else b"everybody"

    app = librl.asgi.RateLimit(asgi_hello, limiter(), key=key, api=lambda _: "", style=None)
    assert [asgi(app, path=f"/{n}")[0] for n in range(3)] == [200, 200, 429]
    assert set(asgi(app)[1]) == {"content-type", "content-length", "retry-after"}
    assert set(asgi(app, path="/health")[1]) == {"x-own"}


def test_asgi_leaves_other_scopes_alone() -> None:
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    wrapped = librl.asgi.RateLimit(app, Limiter("default = deny"))
    for kind in ("lifespan", "websocket"):
        asyncio.run(wrapped({"type": kind}, None, None))  # type: ignore[arg-type]
    assert seen == ["lifespan", "websocket"]


def test_wsgi_answers_429_with_the_fields() -> None:
    app = librl.wsgi.RateLimit(wsgi_hello, limiter(), style="legacy")
    status, headers, body = wsgi(app)
    assert (status, body, headers["X-Own"]) == (200, b"hello", "1")
    assert headers["X-RateLimit-Remaining"] == "1"
    assert wsgi(app)[0] == 200
    status, headers, body = wsgi(app)
    assert (status, headers["Retry-After"], headers["X-RateLimit-Limit"]) == (429, "3600", "2")
    assert int(headers["Content-Length"]) == len(body) > 0


def test_wsgi_limits_by_address_and_the_bytes_of_the_path() -> None:
    rules = "default = fixed-window,2,1h\napi./shop/ä = fixed-window,1,1h"
    app = librl.wsgi.RateLimit(wsgi_hello, Limiter(rules))
    path = {"SCRIPT_NAME": "/shop", "PATH_INFO": "/ä".encode().decode("latin-1")}
    assert [wsgi(app, **path)[0] for _ in range(2)] == [200, 429]
    assert wsgi(app)[0] == wsgi(app, REMOTE_ADDR="192.0.2.2", **path)[0] == 200


def test_wsgi_takes_keys_and_styles() -> None:
    def key(environ: Any) -> Any:
        return None if environ["PATH_INFO"] == "/health" else b"everybody"

    app = librl.wsgi.RateLimit(wsgi_hello, limiter(), key=key, api=lambda _: "", style=None)
    assert [wsgi(app, PATH_INFO=f"/{n}")[0] for n in range(3)] == [200, 200, 429]
    assert set(wsgi(app)[1]) == {"Content-Type", "Content-Length", "Retry-After"}
    assert set(wsgi(app, PATH_INFO="/health")[1]) == {"Content-Type", "X-Own"}
