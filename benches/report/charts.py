"""The charts in docs/charts."""

import svg
from table import WORK

PEERS = ["librl", "floor", "governor", "Java", "Go"]
COLUMNS, PANEL, HIGH = 3, 284, 134
THREADS = ["hot key, allowed", "hot key, refused", "random keys"]


def draw(run):
    """The text of each chart, by the name of its file."""
    charts = {"peers.svg": peers(run)}
    if run.growth:
        charts["growth.svg"] = growth(run)
    if run.growth and run.growth.speed_by_threads(THREADS[0]):
        charts["threads.svg"] = threads(run)
    return charts


def machine(run):
    return f"{run.machine['processor']}, {run.machine['processors']} processors"


def peers(run):
    panels = [work(run, name) for name in run.peers.figures()]
    at = next((i for i, (title, _) in enumerate(panels) if title.startswith("W8")), len(panels))
    panels[at:at] = [memory(run, keys) for keys in run.memory_keys()]
    parts = []
    for number, (title, values) in enumerate(panels):
        x, y = 12 + number % COLUMNS * PANEL, 70 + number // COLUMNS * HIGH
        parts += svg.bars(x, y, PANEL - 12, title, values)
    rows = -(-len(panels) // COLUMNS)
    title = f"Nanoseconds for a check (W7: bytes for a key), on {machine(run)}"
    note = "Less is better. Each panel has a scale of its own, from 0. Medians."
    return svg.page(12 + COLUMNS * PANEL, 60 + rows * HIGH, title, note, parts)


def work(run, name):
    return f"{name} {WORK[name]}", measured(lambda one: run.peers.median(name, one))


def memory(run, keys):
    return f"W7 {keys:,} keys", measured(lambda one: run.bytes_per_key(one, keys))


def measured(value):
    values = [(one, value(one)) for one in PEERS]
    return [(one, value) for one, value in values if value is not None]


def growth(run):
    wide, high = 430, 280
    speed, memory = run.growth.speed_by_keys(), run.growth.bytes_by_keys()
    parts = svg.plot(12, 70, wide, high, "million checks a second", "keys", speed, True)
    parts += svg.plot(12 + wide, 70, wide, high, "bytes a key", "keys", memory, True)
    parts += svg.legend(12 + 2 * wide, 40, list(speed))
    title = f"As keys become more, on {machine(run)}"
    note = "Keys in random order, one thread. Medians; keys on a logarithmic scale."
    return svg.page(24 + 2 * wide, 80 + high, title, note, parts)


def threads(run):
    wide, high = 288, 250
    parts = []
    for number, figure in enumerate(THREADS):
        curves = run.growth.speed_by_threads(figure)
        parts += svg.plot(12 + number * wide, 70, wide, high, figure, "threads", curves, False)
    parts += svg.legend(12 + 3 * wide, 40, list(curves))
    title = f"As threads become more, on {machine(run)}"
    note = "Million checks a second, by all threads together; among 1,000,000 keys. Medians."
    return svg.page(24 + 3 * wide, 80 + high, title, note, parts)
