"""Measures librl from Python: the ways to call C, the package, and the package `limits`.

    bench.py RL_H BUILD        `make bench-python` runs it so

RL_H is include/rl.h, BUILD has librl.so and librl.a. First the same work, a check of a user
and an API and a look at the answer, by ctypes, by cffi's ABI mode and by its API mode, the
last as it comes and with the GIL kept, as the package has it. Then what the package's own
calls take, and the same decisions by `limits` in memory. Nanoseconds a request; each is the
least of several turns, taken in rotation, so that what else runs on the machine falls on all.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable

import limits
from cffi import FFI
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter, SlidingWindowCounterRateLimiter

import librl

TURNS = 301
CALLS = 1_000
CALLS_OF_TWO = 20_000  # long enough for the GIL to change hands by itself
TURNS_OF_TWO = 15
USER, API = "198.51.100.7", "/v1/orders"
RULE = "token-bucket,1000000000,1h"
ASKS = "rl_service *, const void *, size_t, const void *, size_t, uint64_t"
C = f"""
    typedef struct rl_config rl_config;
    typedef struct rl_service rl_service;
    typedef struct {{
        bool allowed;
        uint8_t flags, limit_count, limit_index, denied_by, reserved[3];
        uint64_t limit, remaining, retry_after_ms, reset_after_ms, window_ms;
        char name[16];
    }} rl_decision;
    int32_t rl_config_new(rl_config **);
    int32_t rl_config_set(rl_config *, const char *, const char *, struct rl_error *);
    int32_t rl_service_new(const rl_config *, rl_service **, struct rl_error *);
    int32_t rl_check_bytes({ASKS}, rl_decision *);
"""
KEEP = """
    #undef Py_BEGIN_ALLOW_THREADS
    #undef Py_END_ALLOW_THREADS
    #define Py_BEGIN_ALLOW_THREADS {
    #define Py_END_ALLOW_THREADS }
"""
Call = Callable[[], Any]


class Decision(ctypes.Structure):
    _fields_ = [
        ("allowed", ctypes.c_bool),
        ("others", ctypes.c_uint8 * 7),
        ("numbers", ctypes.c_uint64 * 5),
        ("name", ctypes.c_char * 16),
    ]


def by_ctypes(library: ctypes.CDLL) -> Call:
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    config, service = pointer(), pointer()
    library.rl_config_set.argtypes = [pointer, ctypes.c_char_p, ctypes.c_char_p, pointer]
    library.rl_service_new.argtypes = [pointer, pointer, pointer]
    assert library.rl_config_new(ctypes.byref(config)) == 0
    assert library.rl_config_set(config, b"default", RULE.encode(), None) == 0
    assert library.rl_service_new(config, ctypes.byref(service), None) == 0
    check, byref = library.rl_check_bytes, ctypes.byref
    text = ctypes.c_char_p
    check.argtypes = [pointer, text, size, text, size, ctypes.c_uint64, pointer]

    def call() -> bool:
        user, api, out = USER.encode(), API.encode(), Decision()
        check(service, user, len(user), api, len(api), 1, byref(out))
        return bool(out.allowed)

    return call


def by_cffi(ffi: Any, library: Any) -> Call:
    config, service = ffi.new("rl_config **"), ffi.new("rl_service **")
    assert library.rl_config_new(config) == 0
    assert library.rl_config_set(config[0], b"default", RULE.encode(), ffi.NULL) == 0
    assert library.rl_service_new(config[0], service, ffi.NULL) == 0
    check, new, decision, of = library.rl_check_bytes, ffi.new, ffi.typeof("rl_decision *"), service[0]

    def call() -> bool:
        user, api, out = USER.encode(), API.encode(), new(decision)
        check(of, user, len(user), api, len(api), 1, out)
        return bool(out.allowed)

    return call


def declared() -> FFI:
    ffi = FFI()
    ffi.cdef(C.replace("struct rl_error *", "void *"))
    return ffi


def compiled(name: str, header: Path, build: Path, place: str, before: str = "") -> Call:
    """By a module that cffi makes in its API mode."""
    ffi = declared()
    ffi.set_source(
        name,
        f'{before}\n#include "{header.resolve()}"\n',
        extra_objects=[str(build.resolve() / "librl.a")],
        extra_compile_args=["-O2"],
        py_limited_api=True,
    )
    spec = importlib.util.spec_from_file_location(name, ffi.compile(tmpdir=place))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return by_cffi(module.ffi, module.lib)


def ways(header: Path, build: Path, place: str) -> dict[str, Call]:
    library = build.resolve() / "librl.so"
    abi = declared()
    return {
        "ctypes, CDLL": by_ctypes(ctypes.CDLL(str(library))),
        "ctypes, PyDLL (keeps the GIL)": by_ctypes(ctypes.PyDLL(str(library))),
        "cffi, ABI mode": by_cffi(abi, abi.dlopen(str(library))),
        "cffi, API mode": compiled("_lets_go", header, build, place),
        "cffi, API mode, GIL kept": compiled("_keeps", header, build, place, KEEP),
    }


def package() -> dict[str, Call]:
    limiter = librl.Limiter(f"default = {RULE}\nuser.full = fixed-window,1,1000d")
    limiter.check("full", API)
    requests = [(USER, API)] * 16
    return {
        "check(), allowed": lambda: limiter.check(USER, API),
        "check(), refused": lambda: limiter.check("full", API),
        "allow(), allowed": lambda: limiter.allow(USER, API),
        "check_many() of 16, each": lambda: limiter.check_many(requests),
    }


def peers() -> dict[str, Call]:
    """Of `limits`, the two strategies whose counters are as small as librl's."""
    much, little = limits.parse("1000000000/hour"), limits.parse("1/365 days")
    calls: dict[str, Call] = {}
    for name, strategy in (
        ("fixed window", FixedWindowRateLimiter(MemoryStorage())),
        ("sliding window counter", SlidingWindowCounterRateLimiter(MemoryStorage())),
    ):
        strategy.hit(little, USER, API)
        calls[f"limits, {name}, allowed"] = lambda s=strategy: s.hit(much, USER, API)  # type: ignore[misc]
        calls[f"limits, {name}, refused"] = lambda s=strategy: s.hit(little, USER, API)  # type: ignore[misc]
    return calls


def timed(call: Call) -> float:
    begun = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - begun) / CALLS


def timed_by_two(call: Call) -> float:
    """Two threads, each with half of the calls."""

    def half() -> None:
        for _ in range(CALLS_OF_TWO // 2):
            call()

    threads = [threading.Thread(target=half) for _ in range(2)]
    begun = time.perf_counter_ns()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter_ns() - begun) / CALLS_OF_TWO


def measured(
    calls: dict[str, Call], timer: Callable[[Call], float] = timed, count: int = TURNS
) -> dict[str, float]:
    turns = [{name: timer(call) for name, call in calls.items()} for _ in range(count)]
    return {name: min(turn[name] for turn in turns) for name in calls}


def main(header: Path, build: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        calls = ways(header, build, place)
        alone, two = measured(calls), measured(calls, timed_by_two, TURNS_OF_TWO)
    own = measured({**package(), **peers()})
    own["check_many() of 16, each"] /= 16
    print(f"Python {sys.version.split()[0]}, nanoseconds a request\n")
    print("| one check, and a look at the answer | one thread | two threads |\n|---|---:|---:|")
    for name in calls:
        print(f"| {name} | {alone[name]:,.0f} | {two[name]:,.0f} |")
    print("\n| | |\n|---|---:|")
    for name, nanoseconds in own.items():
        print(f"| {name} | {nanoseconds:,.0f} |")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
