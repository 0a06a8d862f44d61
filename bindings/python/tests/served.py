"""The application that test_gunicorn.py serves: says which worker has answered."""

import os
from typing import Any, Iterable

import librl
import librl.wsgi


def hello(environ: Any, start_response: Any) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain"), ("X-Worker", str(os.getpid()))])
    return [b"hello\n"]


app = librl.wsgi.RateLimit(hello, librl.Limiter(os.environ["LIBRL_TEST_RULES"]))
