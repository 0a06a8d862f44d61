"""What a run of the benchmark has measured, from the files in build/bench.

Every slice has one time of each contender. A contender's figure is the median of its
repetitions, each the median of its slices; its spread is from the least repetition to the
greatest. A ratio is the median of those in each slice, of times that lie side by side.
"""

import csv
from collections import defaultdict
from pathlib import Path
from statistics import median


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Times:
    """The times of a file, by figure and contender."""

    def __init__(self, path):
        self.slices = defaultdict(dict)
        for row in rows(path):
            where = int(row["repetition"]), int(row["slice"])
            self.slices[row["figure"], row["contender"]][where] = float(row["ns"])

    def figures(self):
        return list(dict.fromkeys(figure for figure, _ in self.slices))

    def contenders(self, figure):
        return [contender for own, contender in self.slices if own == figure]

    def repetitions(self, figure, contender):
        """The median of the slices in each."""
        parts = defaultdict(list)
        for (repetition, _), ns in self.slices.get((figure, contender), {}).items():
            parts[repetition].append(ns)
        return [median(part) for part in parts.values()]

    def median(self, figure, contender):
        times = self.repetitions(figure, contender)
        return median(times) if times else None

    def shown(self, figure, contender):
        """The figure and its spread, as text; nothing if it was not measured."""
        times = self.repetitions(figure, contender)
        if not times:
            return ""
        return f"{median(times):.1f} ({min(times):.1f}-{max(times):.1f})"

    def ratio(self, dividend, divisor):
        """How many times as long the one takes as the other; each (figure, contender)."""
        own, other = self.slices.get(dividend, {}), self.slices.get(divisor, {})
        ratios = [own[where] / other[where] for where in own if where in other]
        return median(ratios) if ratios else None


class Run:
    """All files of a run. Those of the growth and the instructions may be missing: they are
    other commands'."""

    def __init__(self, place):
        place = Path(place)
        self.machine = rows(place / "machine.csv")[0]
        self.peers = Times(place / "peers.csv")
        self.inner = Times(place / "inner.csv")
        self.memory = rows(place / "memory.csv")
        self.growth = Growth(place) if (place / "growth.csv").exists() else None
        counted = place / "instructions.md"
        self.instructions = counted.read_text(encoding="utf-8") if counted.exists() else None

    def memory_keys(self):
        return sorted({int(row["keys"]) for row in self.memory})

    def bytes_per_key(self, contender, keys):
        for row in self.memory:
            if row["contender"] == contender and int(row["keys"]) == keys:
                return float(row["bytes"])
        return None


class Growth:
    """Points of curves: [(x, y)] by the contender."""

    def __init__(self, place):
        self.times = defaultdict(list)
        for row in rows(place / "growth.csv"):
            key = row["figure"], row["contender"], int(row["keys"]), int(row["threads"])
            self.times[key].append(float(row["ns"]))
        self.memory = rows(place / "growth-memory.csv")

    def speed_by_keys(self, threads=1):
        """Millions of checks a second, of random keys."""
        return curves(
            (contender, keys, threads * 1e3 / median(times))
            for (figure, contender, keys, own), times in self.times.items()
            if figure == "random keys" and own == threads
        )

    def speed_by_threads(self, wanted, among=1_000_000):
        """Millions of checks a second, by all threads together."""
        return curves(
            (contender, threads, threads * 1e3 / median(times))
            for (figure, contender, keys, threads), times in self.times.items()
            if figure == wanted and keys == among
        )

    def bytes_by_keys(self):
        return curves(
            (row["contender"], int(row["keys"]), float(row["bytes"])) for row in self.memory
        )


def curves(points):
    found = defaultdict(list)
    for contender, x, y in points:
        found[contender].append((x, y))
    return {contender: sorted(points) for contender, points in found.items()}
