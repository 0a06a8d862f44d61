"""What a check costs by each algorithm, for docs/choosing.md: instructions, counted as those of
docs/performance.md are (benches/report/instructions.py).

    python3 -B docs/tools/costs.py CALLS LIBRARY

CALLS is build/bench/calls, LIBRARY the shared library that it loads. They differ by some per cent
from one compiler to the next, so no test compares them.
"""

import sys
from pathlib import Path

from page import fill

sys.path.append(str(Path(__file__).parents[2] / "benches" / "report"))
import instructions

KINDS = {
    "token-bucket": ("allowed", "refused"),
    "fixed-window": ("fixed", "fixed-refused"),
    "sliding-window": ("sliding", "sliding-refused"),
    "sliding-window-counter": ("counter", "counter-refused"),
}


def main(calls, library):
    library = Path(library).resolve()
    count = lambda kind: sum(instructions.count(calls, library, kind).values())
    lines = ["| instructions | allowed | refused |", "|---|---|---|"]
    for algorithm, kinds in KINDS.items():
        lines.append(f"| `{algorithm}` | " + " | ".join(f"{count(kind):.0f}" for kind in kinds) + " |")
    fill(Path("docs/choosing.md"), "costs", "\n".join(lines))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
