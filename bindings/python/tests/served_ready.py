"""gunicorn's configuration: each worker says through a pipe that it is ready to serve."""

import os
from typing import Any

control_socket_disable = True  # it would stand in the home directory


def post_worker_init(worker: Any) -> None:
    os.write(int(os.environ["LIBRL_TEST_READY"]), b".")
