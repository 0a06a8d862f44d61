"""Makes a table of what `go test -bench` prints, to be read from standard input: of the many
short runs of a benchmark the least, as what is more is what else the machine was doing."""

import re
import sys

ROWS = [
    ("a call of C that does nothing", "Noop", None),
    ("`Allow`, one key, allowed", "Allowed/librl", "Allowed/rate"),
    ("`Allow`, one key, refused", "Refused/librl", "Refused/rate"),
    ("`Check`, one key, allowed", "Check/librl", None),
    ("`Allow`, one key, by a goroutine for each processor", "Parallel/librl", "Parallel/rate"),
    ("`Allow`, 1,048,576 keys in random order", "Keys/librl", "Keys/rate"),
    ("`CheckBatch` of 16, one key, for each", "Batch/16", None),
    ("`CheckBatch` of 64, one key, for each", "Batch/64", None),
    ("`CheckBatch` of 16, 1,048,576 keys, for each", "KeysBatch/16", None),
    ("`CheckBatch` of 64, 1,048,576 keys, for each", "KeysBatch/64", None),
]
LINE = re.compile(r"Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op")


def least(lines):
    times = {}
    for name, time in (match.groups() for match in map(LINE.match, lines) if match):
        times[name] = min(float(time), times.get(name, float("inf")))
    return times


def main():
    times = least(sys.stdin)
    missing = {name for _, *names in ROWS for name in names if name} - times.keys()
    if missing:
        sys.exit(f"not measured: {', '.join(sorted(missing))}")
    print("| nanoseconds a call | librl | `x/time/rate` in a `sync.Map` |\n| --- | ---: | ---: |")
    for text, *names in ROWS:
        ours, theirs = (f"{times[name]:.0f}" if name else "" for name in names)
        print(f"| {text} | {ours} | {theirs} |")


main()
