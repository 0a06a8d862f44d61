"""Writing pages, and places in them that are marked `<!-- NAME -->` to `<!-- end -->`."""

import re
import sys


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def fill(path, name, table):
    """Puts a table in the place that is marked for it."""
    region = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    put = lambda found: f"{found[1]}\n{table}\n\n{found[2]}"
    text, places = region.subn(put, path.read_text(encoding="utf-8"))
    if places != 1:
        sys.exit(f"{path}: {places} places for {name}, expected one")
    write(path, text)
