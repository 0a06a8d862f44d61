"""Prints the tables of the last run of the benchmark, or puts them and its charts into
the documentation.

    python3 benches/report table [PLACE]
    python3 benches/report charts [PLACE [DIRECTORY]]
    python3 benches/report docs [PLACE [FILE]]

PLACE is where the run has left its files.
"""

import re
import sys
from pathlib import Path

import charts
import table
from run import Run

REGION = r"(<!-- {} -->\n).*?(<!-- end -->)"


def draw(run, directory="docs/charts"):
    Path(directory).mkdir(parents=True, exist_ok=True)
    for name, text in charts.draw(run).items():
        Path(directory, name).write_text(text, encoding="utf-8")
        print(f"{directory}/{name}")


def fill(run, file="docs/performance.md"):
    """Puts the tables in the places that are marked for them."""
    text = Path(file).read_text(encoding="utf-8")
    for name, figures in [("figures", table.everything(run)), ("instructions", run.instructions)]:
        region = re.compile(REGION.format(name), re.DOTALL)
        put = lambda found: f"{found[1]}\n{figures.strip()}\n\n{found[2]}"
        text, places = region.subn(put, text) if figures else (text, 1)
        if places != 1:
            sys.exit(f"{file}: {places} places for {name}, expected one")
    Path(file).write_text(text, encoding="utf-8")


COMMANDS = {"table": lambda run: print(table.everything(run)), "charts": draw, "docs": fill}

if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or [""]
    if command not in COMMANDS:
        sys.exit(__doc__)
    place, *to = arguments or ["build/bench"]
    COMMANDS[command](Run(place), *to)
