"""gunicorn's configuration: each worker says through a pipe that it is ready to serve."""

import os
from typing import Any


def post_worker_init(worker: Any) -> None:
    os.write(int(os.environ["LIBRL_TEST_READY"]), b".")
