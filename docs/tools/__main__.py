"""Makes what the pages in docs/ say of the library itself.

    python3 -B docs/tools [DIRECTORY]

Writes reference.md from include/rl.h, the charts of choosing.md and the tables in it from what
build/librl.so answers. DIRECTORY is where the pages are, docs/ if none is given.
"""

import sys
from pathlib import Path

import admitted
import reference
import traffic
from header import Header
from page import fill, write


def main(directory="docs"):
    docs = Path(directory)
    write(docs / "reference.md", reference.page(Header()))
    seen = {shape.name: traffic.watch(shape) for shape in traffic.SHAPES}
    for shape in traffic.SHAPES:
        write(docs / "charts" / f"{shape.name}.svg", admitted.chart(shape, seen[shape.name]))
    fill(docs / "choosing.md", "passed", admitted.table(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
