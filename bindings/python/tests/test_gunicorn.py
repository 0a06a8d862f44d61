"""gunicorn with four workers that share one zone: together they give what the limit says."""

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from select import select
from typing import Iterator, Optional, Tuple

import pytest

import librl

WORKERS = 4
LIMIT = 100
REQUESTS = 400
ZONE = f"/librl-python-gunicorn-{os.getpid()}"
RULES = f"default = fixed-window,{LIMIT},1000d\nshared = {ZONE}\nmemory = 64k\n"


@pytest.fixture(params=[[], ["--preload"]], ids=["each loads", "preloaded"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    ready, tell = os.pipe()
    with socket.create_server(("127.0.0.1", 0), backlog=REQUESTS) as listener:
        command = [sys.executable, "-B", "-m", "gunicorn", f"--workers={WORKERS}", "--log-level=warning"]
        command += ["--config=served_ready.py", f"--bind=fd://{listener.fileno()}"]
        command += request.param
        server = subprocess.Popen(
            [*command, "served:app"],
            cwd=Path(__file__).parent,
            env={**os.environ, "LIBRL_TEST_RULES": RULES, "LIBRL_TEST_READY": str(tell)},
            pass_fds=[listener.fileno(), tell],
            start_new_session=True,  # so that no worker is left behind, whatever happens
        )
        os.close(tell)
        try:
            for _ in range(WORKERS):
                assert select([ready], [], [], 60)[0] and os.read(ready, 1)
            yield listener.getsockname()[1]
            server.terminate()
            assert server.wait(60) == 0
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait(60)
            os.close(ready)
            with suppress(librl.Error):
                librl.remove_zone(ZONE)


def test_four_workers_give_exactly_the_limit(port: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(port), range(REQUESTS)))
    statuses = [status for status, _ in answers]
    assert (statuses.count(200), statuses.count(429)) == (LIMIT, REQUESTS - LIMIT)
    assert len({worker for _, worker in answers if worker}) >= 2


def ask(port: int) -> Tuple[int, Optional[str]]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/")
        response = connection.getresponse()
        assert response.status == 200 or response.headers["Retry-After"]
        return response.status, response.headers["X-Worker"]
    finally:
        connection.close()
