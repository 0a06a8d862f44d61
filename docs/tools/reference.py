"""docs/reference.md: what include/rl.h says, as a page with links."""

import re
from textwrap import dedent

OPENING = """\
# Reference of the C interface

<!-- Made of include/rl.h by `make docs`; change it there (src/capi), not here. -->

What [rl.h](../include/rl.h) says, to click through. A first program is in [start.md](start.md), and
what a rule may say in [rules.md](rules.md).
"""

# What the first page of the header says that is not on other pages.
OVERVIEW = ["The calls that ask", "Ownership", "Threads", "Errors", "Many processes", "Limits"]
# What stands at the end of the header, for the compiler's sake.
AT_HOME = {"RL_STATS_INIT": "Statistics", "rl_free": "Service"}

# Names of C, as they stand in prose: what has an underscore in it, what is pointed at.
CODE = re.compile(r"\w*_\w*(?:\.\w+)?|\*(?:out|error|needed)\b|\b(?:out|requests)\[i\]")
# What the header says of itself, on a page.
PLACES = [
    (r"MANY PROCESSES at the top of this\s+file", "[Many processes](#many-processes)"),
    (r"as described at the top of this\s+file", "as described in [rules.md](rules.md)"),
]


def page(header):
    arrange(header.sections)
    links = Links(header)
    parts = [OPENING, contents(header, links)]
    for title in OVERVIEW:
        parts += [f"## {title}", prose(header.overview[title], links)]
    for section in header.sections:
        parts += [f"## {section.title}", *describe(section, links)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def arrange(sections):
    """What belongs to a section stands there, and what stands in none, in the first."""
    untitled = sections.pop(0)
    sections[0].entries[:0] = untitled.entries
    by_title = {section.title: section for section in sections}
    for section in sections:
        for entry in list(section.entries):
            home = by_title.get(AT_HOME.get(entry.name), section)
            if home is not section:
                section.entries.remove(entry)
                home.entries.append(entry)


class Links:
    """Where each name is told of: under its own title, or of a constant, that of its section."""

    def __init__(self, header):
        self.targets = {
            entry.name: slug(section.title) if entry.kind == "constant" else entry.name.lower()
            for section in header.sections
            for entry in section.entries
        }

    def of(self, name):
        target = self.targets.get(name.split(".")[0])
        return f"[`{name}`](#{target})" if target else f"`{name}`"

    def within(self, text):
        """Text as Markdown: names become links, and what would be a mark is none."""
        words, at = "", 0
        for found in CODE.finditer(text):
            words += plain(text[at:found.start()]) + self.of(found[0])
            at = found.end()
        words += plain(text[at:])
        for place, link in PLACES:
            words = re.sub(place, link, words)
        return words


def plain(text):
    return re.sub(r"([*<|])", r"\\\1", text)


def slug(title):
    return title.lower().replace(" ", "-")


def contents(header, links):
    lines = []
    for section in header.sections:
        names = [links.of(entry.name) for entry in section.entries if entry.kind != "constant"]
        title = f"[{section.title}](#{slug(section.title)})"
        lines.append(f"- {title}" + (": " if names else "") + ", ".join(names))
    return "\n".join(lines)


def describe(section, links):
    constants = [entry for entry in section.entries if entry.kind == "constant"]
    if constants:
        yield from ["| constant | value | |\n|---|---|---|\n" + rows(constants, links)]
    for entry in section.entries:
        if entry.kind != "constant":
            yield from [f"### {entry.name}", f"```c\n{entry.code}\n```", prose(entry.doc, links)]
        if entry.fields:
            yield "| field | |\n|---|---|\n" + "\n".join(row(one, links) for one in entry.fields)


def rows(constants, links):
    """A comment about several is told once."""
    lines, last = [], None
    for entry in constants:
        told = "" if entry.doc == last else one_line(entry.doc, links)
        lines.append(f"| `{entry.name}` | `{entry.code}` | {told} |")
        last = entry.doc
    return "\n".join(lines)


def row(one, links):
    declaration, doc = one
    return f"| `{declaration}` | {one_line(doc, links)} |"


def one_line(doc, links):
    return links.within(doc.replace("\n\n", " ").replace("\n", " "))


def prose(text, links):
    """Paragraphs; what is indented is a table of names, or stands as it is."""
    parts = []
    for block in blocks(text):
        if not block.startswith(" "):
            parts.append(links.within(block))
        elif block.lstrip().startswith(("RL_OK ", "rl_")):
            parts.append(table(block, links))
        else:
            parts.append(fenced(dedent(block)))
    return "\n\n".join(parts).replace("\nReturns\n\n|", "\nReturns:\n\n|")


def blocks(text):
    """Lines that stand together: either all of them are indented, or none."""
    found = [""]
    for line in text.splitlines():
        if found[-1] and line and line.startswith(" ") != found[-1].startswith(" "):
            found.append("")
        if line or found[-1].startswith(" "):
            found[-1] += line + "\n"
        elif found[-1]:
            found.append("")
    return [block.strip("\n") for block in found if block.strip()]


def table(block, links):
    """Names and what is told of each; a line that begins further right goes on with it."""
    indent = len(block) - len(block.lstrip())
    lines = []
    for line in block.splitlines():
        if line[indent:indent + 1] != " ":
            lines.append(re.split(r"  +", line.strip(), maxsplit=1))
        else:
            lines[-1][-1] += " " + line.strip()
    told = [f"| {links.within(names)} | {links.within(text)} |" for names, text in lines]
    return "| | |\n|---|---|\n" + "\n".join(told)


def fenced(text):
    """A block as it is; lines of rules are marked as such."""
    kind = "rules" if re.match(r"[\w-]+ +=", text) else "text"
    return f"```{kind}\n{text}\n```"
