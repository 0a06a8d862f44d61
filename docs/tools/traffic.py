"""Traffic of three shapes, and what each algorithm lets through of it: asked of the library
itself, under a clock that is set by hand.
"""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_uint8, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path

LIBRARY = Path(__file__).parents[2] / "build" / "librl.so"
LIMIT, WINDOW_MS, END_MS = 60, 60_000, 180_000

RULES = [
    "token-bucket,60,60",
    "token-bucket,60,60,burst=10",
    "fixed-window,60,60",
    "sliding-window,60,60",
    "sliding-window-counter,60,60",
]


@dataclass(frozen=True)
class Shape:
    """Requests in stretches: (from, to, requests a second), in seconds."""

    name: str
    title: str
    stretches: tuple

    def times(self):
        for first, last, rate in self.stretches:
            for number in range(round((last - first) * rate)):
                yield int(first * 1000 + number * 1000 / rate)


SHAPES = [
    Shape("steady", "Twice as much as the limit, steadily", ((0, 180, 2),)),
    Shape("border", "60 requests on each side of a window's border, and before the next one",
          ((57, 60, 20), (60, 63, 20), (115, 118, 20))),
    Shape("silence", "After a minute and a half of silence, 120 requests in 15 s; then 1.5 a second",
          ((90, 105, 8), (105, 180, 1.5))),
]


@dataclass
class Seen:
    """What became of the requests: [(milliseconds, allowed)]."""

    answers: list

    def passed(self):
        return [at for at, allowed in self.answers if allowed]

    def most(self, span_ms):
        """The most that passed in any span of that length."""
        times, first, most = self.passed(), 0, 0
        for number, at in enumerate(times):
            while at - times[first] >= span_ms:
                first += 1
            most = max(most, number - first + 1)
        return most


def watch(shape):
    """What each rule lets through, by the rule."""
    return {rule: Seen(list(answers(rule, shape))) for rule in RULES}


class Decision(ctypes.Structure):
    """rl_decision, as far as it is looked at."""

    _fields_ = [("allowed", c_uint8), ("rest", c_uint8 * 63)]


def answers(rule, shape):
    service, clock = service_with(rule)
    decision = Decision()
    for at in shape.times():
        must(library().rl_clock_set_ns(clock, at * 1_000_000))
        must(library().rl_check(service, b"alice", b"/orders", byref(decision)))
        yield at, bool(decision.allowed)
    library().rl_service_free(service)
    library().rl_clock_free(clock)


def service_with(rule):
    config, clock, service = c_void_p(), c_void_p(), c_void_p()
    must(library().rl_config_new(byref(config)))
    must(library().rl_clock_new_manual(0, byref(clock)))
    must(library().rl_config_set(config, b"default", rule.encode(), None))
    must(library().rl_config_set_clock(config, clock))
    must(library().rl_service_new(config, byref(service), None))
    library().rl_config_free(config)
    return service, clock


def must(status):
    if status != 0:
        raise RuntimeError(library().rl_status_message(status).decode())


def library(loaded=[]):
    """The library, with the types of the functions that are called."""
    if not loaded:
        made = ctypes.CDLL(str(LIBRARY))
        handle, made_here = c_void_p, POINTER(c_void_p)
        for name, types in {
            "rl_config_new": [made_here],
            "rl_config_set": [handle, c_char_p, c_char_p, c_void_p],
            "rl_config_set_clock": [handle, handle],
            "rl_config_free": [handle],
            "rl_clock_new_manual": [c_uint64, made_here],
            "rl_clock_set_ns": [handle, c_uint64],
            "rl_clock_free": [handle],
            "rl_service_new": [handle, made_here, c_void_p],
            "rl_service_free": [handle],
            "rl_check": [handle, c_char_p, c_char_p, POINTER(Decision)],
        }.items():
            getattr(made, name).argtypes = types
        made.rl_status_message.restype = c_char_p
        loaded.append(made)
    return loaded[0]
