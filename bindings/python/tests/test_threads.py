"""Threads, forks and waiting."""

import gc
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Iterator

import pytest

import librl
from librl import Limiter

LIMIT = 1000


@pytest.fixture
def often() -> Iterator[None]:
    """Threads change places a hundred times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


def from_threads(count: int, call: Callable[[int], int]) -> int:
    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(call, range(count)))


@pytest.mark.usefixtures("often")
def test_eight_threads_get_exactly_the_limit() -> None:
    limiter = Limiter(f"default = fixed-window,{LIMIT},1000d")
    for call in (limiter.check, limiter.allow, lambda user: limiter.wait(user, timeout=0)):
        name = str(call)
        given = from_threads(8, lambda _: sum(bool(call(name)) for _ in range(LIMIT // 4)))
        assert given == LIMIT


@pytest.mark.usefixtures("often")
def test_it_may_be_closed_under_calls() -> None:
    for _ in range(20):
        limiter = Limiter("default = fixed-window,100000000,1000d\nmemory = 64k")
        begun = threading.Barrier(5)

        def ask(number: int) -> int:
            begun.wait(10)
            try:
                while True:
                    limiter.check("alice")
                    limiter.check_many([("alice", "")] * 3)
            except librl.Error as error:
                return str(error) == "the limiter is closed"

        with ThreadPoolExecutor(4) as pool:
            results = [pool.submit(ask, n) for n in range(4)]
            begun.wait(10)
            limiter.close()
            assert all(result.result(60) for result in results)
        gc.collect()


def test_a_wait_lets_other_threads_run_and_survives_a_close() -> None:
    clock = librl.ManualClock()
    limiter = Limiter("default = token-bucket,1,10", clock=clock)
    limiter.check("alice")
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(limiter.wait, "alice"), pool.submit(limiter.wait, "alice", "", 2)]
        assert not waiting[1].result(60)  # a cost that never passes does not wait
        time.sleep(0.05)
        limiter.close()
        assert not waiting[0].done()
        clock.advance(10)
        assert waiting[0].result(60).allowed


def test_who_would_wait_too_long_is_told_at_once() -> None:
    limiter = Limiter("default = token-bucket,1,1000d")
    assert limiter.wait("alice").allowed
    begun = time.monotonic()
    assert not limiter.wait("alice", timeout=3600)
    assert time.monotonic() - begun < 60


def test_the_main_thread_waits_by_real_time() -> None:
    limiter = Limiter("default = token-bucket,1,50ms")
    begun = time.monotonic()
    assert all(limiter.wait("alice") for _ in range(3))
    assert time.monotonic() - begun >= 0.099


def test_ctrl_c_ends_a_wait_and_takes_nothing() -> None:
    clock = librl.ManualClock()
    limiter = Limiter("default = token-bucket,1,1h", clock=clock)
    limiter.check("alice")
    main = threading.main_thread().ident
    assert main is not None
    # Who starts the tests in the background has them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            limiter.wait("alice")
    finally:
        signal.signal(signal.SIGINT, before)
    clock.advance(3600)
    for thread in threading.enumerate():
        if thread.name == "librl-wait":
            thread.join(60)
    assert limiter.check("alice")


def test_a_child_counts_on_its_own_from_the_fork() -> None:
    limiter = Limiter("default = fixed-window,5,1000d")
    limiter.check("alice", cost=2)
    assert in_child(lambda: limiter.check("alice").remaining) == 2
    assert limiter.check("alice").remaining == 2


def test_children_share_a_zone_with_their_parent() -> None:
    name = f"/librl-python-fork-{os.getpid()}"
    limiter = Limiter(f"default = fixed-window,5,1000d\nshared = {name}\nmemory = 64k")
    try:
        assert in_child(lambda: limiter.check("alice").remaining) == 4
        assert in_child(lambda: check_and_close(limiter)) == 3
        assert limiter.check("alice").remaining == 2
    finally:
        librl.remove_zone(name)


def test_a_fork_while_others_check_and_wait_harms_nobody() -> None:
    limiter = Limiter("default = fixed-window,1000000000,1000d\nuser.w = token-bucket,1,200ms")
    stop = threading.Event()

    def work(user: str) -> None:
        while not stop.is_set():
            limiter.wait(user)

    threads = [threading.Thread(target=work, args=(user,)) for user in ("alice", "w")]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert in_child(lambda: limiter.check("bob", "", 1).allowed) == 1
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def check_and_close(limiter: Limiter) -> int:
    with limiter:
        return limiter.check("alice").remaining


def in_child(call: Callable[[], int]) -> int:
    """What a forked child makes of it, a number below 200."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        code = 255
        try:
            code = int(call())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
