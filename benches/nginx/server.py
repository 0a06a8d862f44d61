"""One nginx under callgrind, in one process, and a client that sends it requests.

The client sends the next request when nginx sleeps again, all over one connection: so the
event loop wakes up once for each, and the count is nearly the same at every run. The pool
of a request is large enough for all: with the default, it is a matter of the bytes in the
request whether another block is taken, and which limiter happens to pay for that.
"""

import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60  # seconds, for anything

CONFIGURATION = """\
{main}
daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
error_log error.log {log_level};
events {{
}}
http {{
    access_log off;
    request_pool_size 8k;
    keepalive_requests 1000000;
    client_body_temp_path client;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {http}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            {location}
        }}
    }}
}}
"""

# What curl sends.
REQUEST = """\
GET /?user=user-{:07d} HTTP/1.1\r
Host: 127.0.0.1:8080\r
User-Agent: curl/7.88.1\r
Accept: */*\r
\r
"""


def profile(setup, count):
    """What callgrind has written of an nginx that answered this many requests."""
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        with started(setup, directory) as (process, connection):
            for number in range(count):
                wait_until_asleep(process)
                status = ask(connection, number if setup.new else 0)
                expect(setup.later if number else setup.first, status, "status", setup)
            quit_nginx(process)
        lines = (directory / "error.log").read_text().count("\n")
        expect(setup.log_lines * (count - 1), lines, "lines in the error log", setup)
        return (directory / "callgrind.out").read_text()


@contextmanager
def started(setup, directory):
    port = free_port()
    configuration = CONFIGURATION.format(port=port, **setup._asdict())
    (directory / "nginx.conf").write_text(configuration)
    (directory / "limits.rules").write_text(setup.rules)
    with open(directory / "output", "w") as output:
        process = subprocess.Popen(command(directory), stdout=output, stderr=output)
    try:
        with connected(process, port, directory / "output") as connection:
            yield process, connection
    finally:
        process.kill()
        process.wait()


def command(directory):
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/callgrind.out",
            "nginx", "-p", directory, "-c", directory / "nginx.conf",
            "-e", directory / "error.log"]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def connected(process, port, output):
    """The only connection there is, made as soon as nginx listens."""
    for _ in moments("nginx does not listen"):
        if process.poll() is not None:
            raise RuntimeError(f"nginx has not started:\n{output.read_text()}")
        try:
            return socket.create_connection(("127.0.0.1", port), PATIENCE)
        except ConnectionRefusedError:
            time.sleep(0.02)


def wait_until_asleep(process):
    for _ in moments("nginx does not come to rest"):
        if Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].startswith("S"):
            return


def moments(complaint):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        yield
    raise TimeoutError(complaint)


def ask(connection, user):
    """Sends a request, and reads the whole answer; its status."""
    connection.sendall(REQUEST.format(user).encode())
    answer = b""
    while not is_whole(answer):
        more = connection.recv(65536)
        if not more:
            raise ConnectionError("nginx has closed the connection")
        answer += more
    return int(answer.split()[1])


def is_whole(answer):
    head, end, body = answer.partition(b"\r\n\r\n")
    return end and len(body) >= int(head.partition(b"\r\nContent-Length: ")[2].split()[0])


def quit_nginx(process):
    wait_until_asleep(process)  # A signal that comes just before it sleeps does not wake it.
    process.send_signal(signal.SIGQUIT)
    expect(0, process.wait(PATIENCE), "exit status", process.args)


def expect(expected, seen, what, context):
    if seen != expected:
        raise RuntimeError(f"{what}: {seen} instead of {expected}, with {context}")
