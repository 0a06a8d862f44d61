#!/usr/bin/env python3
"""Makes the manual pages: man.py HEADER DIRECTORY.

rl.h.3 is the header's own text: the page on top section by section, then each declaration
with what its comment says. The name of every function leads to it. Nothing is written here
that is not in the header; indented lines there are tables and code, and stay as they are.
"""

import re
import sys
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "tools"))
from header import Header  # noqa: E402


def main(header, directory):
    header, place = Header(header), Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    (place / "rl.h.3").write_text(page(header), encoding="utf-8")
    for entry in header.entries():
        if entry.kind == "function":
            link = place / f"{entry.name}.3"
            link.unlink(missing_ok=True)
            link.symlink_to("rl.h.3")


def page(header):
    return "".join([title(header), synopsis(), *manual(header), *reference(header)])


def title(header):
    names = {entry.name: entry.code for entry in header.entries()}
    version = names["LIBRL_VERSION"].strip('"')
    return (
        f'.TH rl.h 3 "" "librl {version}" "Library Functions Manual"\n'
        f".SH NAME\nrl.h \\- {escape(header.summary)}\n"
    )


def synopsis():
    program = ["#include <rl.h>", "", "cc program.c $(pkg-config --cflags --libs librl)"]
    return ".SH SYNOPSIS\n" + verbatim(program)


def manual(header):
    for heading, text in header.overview.items():
        yield f'.SH "{heading.upper()}"\n' + prose(text)


def reference(header):
    """The declarations, under the headings of the header."""
    for section in header.sections:
        yield f'.SH "{section.title.upper() or "CONSTANTS"}"\n'
        # Constants that stand together have one comment.
        for _, entries in groupby(section.entries, lambda entry: entry.doc):
            yield declaration(list(entries))


def declaration(entries):
    first = entries[0]
    lines = first.code.split("\n")
    if first.kind == "constant":
        lines = [f"#define {entry.name} {entry.code}" for entry in entries]
    text = f'.SS "{escape(first.name)}"\n' + verbatim(lines)
    text += ".PP\n" + prose(first.doc)
    for code, doc in first.fields:
        text += f".TP\n{text_of([code])}" + prose(doc, ".IP\n")
    return text


def prose(text, paragraph=".PP\n"):
    """Paragraphs filled, indented lines as they are; none begins with a macro of its own."""
    blocks = re.split(r"\n\s*\n", text.strip("\n"))
    parts = [run for block in blocks for run in runs(block.split("\n"))]
    return paragraph.join(verbatim(part) if part[0][0] == " " else text_of(part) for part in parts)


def runs(lines):
    """Neighbouring lines of one kind: indented or not."""
    return [list(run) for _, run in groupby(lines, lambda line: line.startswith(" "))]


def verbatim(lines):
    return ".RS 4\n.nf\n" + text_of(lines) + ".fi\n.RE\n"


def text_of(lines):
    return "".join(escape(line.rstrip()) + "\n" for line in lines)


def escape(line):
    """As roff text: a hyphen that may be copied, nothing taken for a request."""
    for character, name in (("\\", "\\e"), ("-", "\\-"), ("^", "\\(ha"), ("~", "\\(ti")):
        line = line.replace(character, name)
    return "\\&" + line if line.startswith((".", "'")) else line


if __name__ == "__main__":
    main(*sys.argv[1:])
