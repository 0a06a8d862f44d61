"""Charts and a table of what each rule lets through of the same traffic: a row for each, of
bars for every second or two; what passed at the bottom, what was refused above it.
"""

import sys
from pathlib import Path

from traffic import END_MS, WINDOW_MS

sys.path.append(str(Path(__file__).parents[2] / "benches" / "report"))
import svg

LEFT, WIDE, ROW, HIGH, TOP = 12, 840, 92, 46, 66
BIN_MS = 2_000
COLOURS = {"passed": "#2f81f7", "refused": "#8b949e"}
FAINT = {"refused": ' fill-opacity="0.45"'}


def chart(shape, seen):
    height = TOP + len(seen) * ROW + 30
    note = "Requests in each 2 s: those that passed, and above them those that were refused. " \
           "Lines: the windows of fixed-window."
    parts = legend()
    for number, (rule, one) in enumerate(seen.items()):
        parts += row(TOP + number * ROW, rule, one)
    parts += seconds(TOP + len(seen) * ROW)
    return svg.page(LEFT + WIDE + 12, height, shape.title, note, parts)


def legend():
    parts = []
    for name, x in [("passed", LEFT + WIDE - 130), ("refused", LEFT + WIDE - 60)]:
        parts.append(f'<circle cx="{x + 5}" cy="18" r="5" fill="{COLOURS[name]}"{FAINT.get(name, "")}/>')
        parts.append(svg.text(x + 14, 22, name, "small"))
    return parts


def row(top, rule, seen):
    base = top + 18 + HIGH
    passed, refused = bins(seen, True), bins(seen, False)
    scale = HIGH / max(map(sum, zip(passed, refused)))
    told = f"{len(seen.passed())} of {len(seen.answers)} passed; in no minute more than " \
           f"{seen.most(WINDOW_MS)}"
    parts = [svg.text(LEFT, top + 10, rule, "panel"),
             svg.text(LEFT + WIDE, top + 10, told, "small", "end")]
    parts += [svg.line(across(at), top + 16, across(at), base, "grid")
              for at in range(0, END_MS + 1, WINDOW_MS)]
    nothing = [0] * len(passed)
    parts.append(bars(base, scale, nothing, passed, "passed"))
    parts.append(bars(base, scale, passed, refused, "refused"))
    return [*parts, svg.line(LEFT, base, LEFT + WIDE, base, "axis")]


def bars(base, scale, below, counts, name):
    """All bars of a row as one path; each stands on what is below it."""
    path, wide = "", across(BIN_MS) - across(0) - 1
    for number, (start, count) in enumerate(zip(below, counts)):
        x, low, high = across(number * BIN_MS) + 0.5, base - start * scale, count * scale
        path += f"M{x:.1f} {low:.1f}h{wide:.1f}v{-high:.1f}h{-wide:.1f}z" if count else ""
    return f'<path d="{path}" fill="{COLOURS[name]}"{FAINT.get(name, "")}/>'


def bins(seen, allowed):
    counts = [0] * (END_MS // BIN_MS)
    for at, answer in seen.answers:
        counts[at // BIN_MS] += answer == allowed
    return counts


def across(at):
    return LEFT + at / END_MS * WIDE


def seconds(y):
    return [svg.text(across(at), y, f"{at // 1000} s", "small",
                     "start" if at == 0 else "end" if at == END_MS else "middle")
            for at in range(0, END_MS + 1, 30_000)]


def table(seen):
    """What passed of each shape of traffic, and the most in a minute."""
    head = " | ".join(seen)
    lines = [f"| passed, and the most in any minute | {head} |", "|---|" + "---|" * len(seen)]
    for rule in next(iter(seen.values())):
        cells = [f"{len(one[rule].passed())} of {len(one[rule].answers)}, {one[rule].most(WINDOW_MS)}"
                 for one in seen.values()]
        lines.append(f"| `{rule}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)
