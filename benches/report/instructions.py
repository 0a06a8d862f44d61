"""Counts the instructions of a check, by the part of the library that they were written
in. They are the same on every machine of a kind, however busy it is.

    python3 benches/report/instructions.py CALLS LIBRARY

CALLS is build/bench/calls, LIBRARY the shared library that it loads. Prints a table in
Markdown. The clock is a manual one: what the system's costs is not in it.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

KINDS = {
    "allowed": "one limit, allowed",
    "refused": "one limit, refused",
    "batch": "one of a batch of 16",
    "three": "three limits, allowed",
}

# From the C interface inwards, by the folder in src/; `aes` is the library of that name.
PARTS = {
    "capi": "arguments and answer in C (`capi`)",
    "hash": "two names hashed (`hash`, AES)",
    "rule": "the rule (`rule`)",
    "service": "the decision put together (`service`)",
    "table": "the counter found and stored (`table`, `machine`)",
    "algorithm": "the arithmetic (`algorithm`)",
    "clock": "a manual clock read (`clock`)",
    "other": "other",
}
SAME = {"machine": "table", "sync.rs": "table", "fork.rs": "table"}

# Multiples of a batch.
FEW, MANY = 1_600, 17_600


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def executed(calls, library, kind, count):
    """How often each instruction of the library was executed, by its address."""
    with tempfile.NamedTemporaryFile() as file:
        run("valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no",
            f"--callgrind-out-file={file.name}", calls, kind, str(count))
        text = Path(file.name).read_text(encoding="utf-8")
    counts, names, inside, is_call = Counter(), {}, False, False
    for line in text.splitlines():
        if found := re.match(r"(c?)ob=(\(\d+\)) ?(.*)", line):
            # An object has its name where it is first met, be it as one that is called.
            name = names.setdefault(found[2], found[3])
            inside = inside if found[1] else Path(name).resolve() == library
        elif line.startswith("calls="):
            is_call = True  # The next line is what that cost in there.
        elif inside and (cost := re.match(r"0x([0-9a-f]+) \S+ (\d+)", line)):
            if not is_call:
                counts[int(cost[1], 16)] += int(cost[2])
            is_call = False
        elif line[:1] in "0+-*":
            is_call = False
    return counts


def parts_of(library, addresses):
    """The part that each instruction was written in, before it was inlined elsewhere."""
    asked = "\n".join(hex(address) for address in addresses)
    told = subprocess.run(["addr2line", "-a", "-i", "-e", library], input=asked,
                          check=True, capture_output=True, text=True).stdout
    places = re.split(r"^0x[0-9a-f]+$", told, flags=re.MULTILINE)[1:]
    return dict(zip(addresses, map(part_of, places)))


def part_of(frames):
    """The innermost place of ours among those that an instruction was inlined through."""
    for frame in frames.split():
        if re.search(r"/(aes|cipher|hybrid-array)-\d", frame):
            return "hash"
        if ours := re.search(r"(?:^|/)src/(\w+(?:\.rs)?)(?:/\S+)?:", frame):
            if "/registry/" not in frame and "/rustc/" not in frame:
                part = SAME.get(ours[1], ours[1]).removesuffix(".rs")
                return part if part in PARTS else "other"
    return "other"


def count(calls, library, kind):
    """Instructions of one call, by part."""
    few, many = (executed(calls, library, kind, times) for times in (FEW, MANY))
    many.subtract(few)
    parts = parts_of(library, sorted(many))
    totals = Counter()
    for address, times in many.items():
        totals[parts[address]] += times / (MANY - FEW)
    return totals


def main(calls, library):
    library = Path(library).resolve()
    columns = [count(calls, library, kind) for kind in KINDS]
    print("| instructions | " + " | ".join(KINDS.values()) + " |")
    print("|---|" + "---|" * len(KINDS))
    for part, name in PARTS.items():
        cells = [f"{column[part]:.0f}" for column in columns]
        if any(cell != "0" for cell in cells):
            print(f"| {name} | " + " | ".join(cells) + " |")
    totals = [f"{sum(column.values()):.0f}" for column in columns]
    print("| **all** | " + " | ".join(totals) + " |")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
