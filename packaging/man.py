#!/usr/bin/env python3
"""Makes the manual pages: man.py HEADER DIRECTORY.

rl.h.3 is the header's own text: the page on top section by section, then each declaration
with what its comment says. The name of every function leads to it. Nothing is written here
that is not in the header; indented lines there are tables and code, and stay as they are.
"""

import pathlib
import re
import sys
from itertools import groupby

ENTRY = re.compile(r"/\*\*?\n?(?P<comment>.*?)\*/\n(?P<code>(?:[^\n]+\n)+)", re.S)
FIELD = re.compile(r"    /\*\*\n(?P<comment>.*?)\*/\n    (?P<code>[^\n]+);\n", re.S)
SECTION = re.compile(r"^/\* --- (.+?) -+ \*/\n", re.M)
FUNCTION = re.compile(r"^[a-z].*?\b(rl_\w+)\(", re.M)


def main(header, directory):
    text = pathlib.Path(header).read_text(encoding="utf-8")
    place = pathlib.Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    (place / "rl.h.3").write_text(page(text), encoding="utf-8")
    for name in functions(text):
        link = place / f"{name}.3"
        link.unlink(missing_ok=True)
        link.symlink_to("rl.h.3")


def functions(text):
    return sorted(set(FUNCTION.findall(uncommented(text))))


def uncommented(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def page(text):
    opening, body = text.split("*/\n", 1)
    body = re.search(r'extern "C" \{\n#endif\n(.*)\n#ifdef __cplusplus', body, re.S)[1]
    version = re.search(r'LIBRL_VERSION "(.*)"', body)[1]
    return "".join([title(opening, version), synopsis(), *manual(opening), *reference(body)])


def title(opening, version):
    summary = re.search(r"librl: (.*)\.\n", opening)[1]
    return (
        f'.TH rl.h 3 "" "librl {version}" "Library Functions Manual"\n'
        f".SH NAME\nrl.h \\- {escape(summary)}\n"
    )


def synopsis():
    program = ["#include <rl.h>", "", "cc program.c $(pkg-config --cflags --libs librl)"]
    return ".SH SYNOPSIS\n" + verbatim(program)


def manual(opening):
    """The page on top, whose headings are lines in capitals."""
    for part in re.split(r"\n(?=[A-Z][A-Z ]+\n\n)", bare(opening))[1:]:
        heading, text = part.split("\n", 1)
        yield f'.SH "{heading}"\n' + prose(text)


def reference(body):
    """The declarations, under the headings of the header."""
    _, *parts = SECTION.split("/* --- Constants - */\n" + body + "\n")
    for heading, text in zip(parts[::2], parts[1::2]):
        yield f'.SH "{heading.upper()}"\n'
        for entry in ENTRY.finditer(text):
            yield declaration(entry["comment"], entry["code"])


def declaration(comment, code):
    fields = list(FIELD.finditer(code))
    bare_code = FIELD.sub(r"    \g<code>;\n", code)
    lines = bare_code.rstrip().split("\n")
    text = f'.SS "{escape(name_of(bare_code))}"\n' + verbatim(lines)
    text += ".PP\n" + prose(bare(comment))
    for field in fields:
        text += f".TP\n{text_of([field['code']])}" + prose(bare(field["comment"]), ".IP\n")
    return text


def name_of(code):
    names = re.findall(r"\b(?:rl_(?!status |config \*|service \*)\w+|(?:LIB)?RL_\w+)", code)
    function = FUNCTION.search(code)
    return function[1] if function else names[-1 if code.startswith("typedef struct") else 0]


def bare(comment):
    """Without the asterisks and what stands before them."""
    return re.sub(r"^ *(/\*+|\* ?)", "", comment, flags=re.M).strip("\n ")


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
