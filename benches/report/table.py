"""The tables: what is printed, and what stands in docs/performance.md."""

WORK = {
    "W1": "hot key, allowed",
    "W2": "hot key, refused",
    "W3": "1,000,000 keys",
    "W4": "hot key, allowed, by 2",
    "W5": "hot key, refused, by 2",
    "W6": "1,000,000 keys, by 2",
    "W8": "Zipf 0.99, by 2",
    "W9/16": "W3, batches of 16",
    "W9/64": "W3, batches of 64",
    "W10": "three limits",
}

# How many times as fast as governor librl is to be, and how many times as slow as the
# floor it may be.
FASTER = {"W1": 1.8, "W2": 2, "W3": 2.5, "W4": 2, "W5": 3, "W6": 2.5, "W8": 2.5, "W9/16": 10}
OVER = {"W1": 1.4, "W2": 1.4, "W3": 1.25, "W6": 1.25}

THREE_OVER_ONE = 2.5
BYTES_PER_KEY = 36
MAKING_MS = 1

HEAD = [
    "ns a check", "librl", "governor", "faster", "goal", "floor", "over it", "goal", "Java", "Go",
]


def markdown(head, lines):
    """A table whose columns stand below each other as plain text, too."""
    widths = [max(map(len, column)) for column in zip(head, *lines)]
    line = lambda cells: "| " + " | ".join(map(str.ljust, cells, widths)) + " |"
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(head), rule, *map(line, lines)])


def goal(ratio, text, reached):
    if not text or ratio is None:
        return ""
    return f"{text} {'reached' if reached else 'missed'}"


def times(ratio):
    return "" if ratio is None else f"{ratio:.2f}x"


def work_line(run, name):
    shown = lambda contender: run.peers.shown(name, contender)
    faster = run.peers.ratio((name, "governor"), (name, "librl"))
    over = run.peers.ratio((name, "librl"), (name, "floor"))
    least, most = FASTER.get(name), OVER.get(name)
    return [
        f"{name} {WORK[name]}",
        shown("librl"),
        shown("governor"),
        times(faster),
        goal(faster, least and f"{least}x", least and faster and faster >= least),
        shown("floor"),
        times(over),
        goal(over, most and f"{most}x", most and over and over <= most),
        shown("Java"),
        shown("Go"),
    ]


def memory_line(run, keys):
    shown = lambda contender: "%.1f" % run.bytes_per_key(contender, keys)
    bytes_per_key = run.bytes_per_key("librl", keys)
    limit = goal(bytes_per_key, f"{BYTES_PER_KEY} bytes", bytes_per_key <= BYTES_PER_KEY)
    head = f"W7 bytes a key, {keys:,} keys"
    faster = times(run.bytes_per_key("governor", keys) / bytes_per_key)
    columns = [head, shown("librl"), shown("governor"), faster, limit, "", "", ""]
    return [*columns, shown("Java"), shown("Go")]


def peers(run):
    lines = [work_line(run, name) for name in run.peers.figures()]
    at = next((i for i, line in enumerate(lines) if line[0].startswith("W8")), len(lines))
    lines[at:at] = [memory_line(run, keys) for keys in run.memory_keys()]
    return markdown(HEAD, lines)


def others(run):
    """Goals that librl has with itself alone."""
    three = run.peers.ratio(("W10", "librl"), ("W1", "librl"))
    making = run.inner.median("rl_service_new, 32 MiB", "private") / 1e6
    verdict = lambda reached: "reached" if reached else "missed"
    return "\n".join([
        f"- W10 takes {three:.2f} times as long as W1; goal: {THREE_OVER_ONE} at most,"
        f" {verdict(three <= THREE_OVER_ONE)}.",
        f"- `rl_service_new` with 32 MiB takes {making:.3f} ms; goal: under {MAKING_MS} ms,"
        f" {verdict(making < MAKING_MS)}.",
    ])


WAYS = [
    "private", "zone", "2 processes", "vDSO clock", "10,000 rules",
    "given, 4 KiB pages", "given, 2 MiB pages",
]


def inner(run):
    """What was done in several ways; after the first, how many times as long it takes."""
    wide = [figure for figure in run.inner.figures() if figure not in PARTS]
    lines = [[figure, *(cell(run, figure, way) for way in WAYS)] for figure in wide]
    return markdown(["ns a check", *WAYS], lines)


def cell(run, figure, way):
    if way == WAYS[0]:
        return run.inner.shown(figure, way)
    time = run.inner.median(figure, way)
    ratio = run.inner.ratio((figure, way), (figure, WAYS[0]))
    return "" if time is None else f"{time:.1f}, {times(ratio)}"


PARTS = {
    "clock": ["vDSO", "TSC"],
    "two names hashed": ["SipHash-1-3"],
    "rl_service_new, 32 MiB": ["private", "zone"],
}


def parts(run):
    lines = [
        [f"{figure}: {way}", run.inner.shown(figure, way)]
        for figure, ways in PARTS.items()
        for way in ways
    ]
    return markdown(["ns", ""], lines)


def machine(run):
    own = run.machine
    return (
        f"{own['processor']}, {own['processors']} processors; clock source {own['clocksource']},"
        f" huge pages {own['huge pages']}"
    )


def everything(run):
    count = len(run.peers.repetitions("W1", "librl"))
    return "\n\n".join([
        f"{machine(run)}. Medians of {count} repetitions (least-most).",
        peers(run),
        others(run),
        parts(run),
        inner(run),
    ])
