"""include/rl.h, taken apart: the overview on its first page, and its sections with what each
declares, for reference.md and the manual page. It knows the form that `make header` gives the file, not C: a comment, what it is
about, an empty line.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

SECTION = re.compile(r"/\* --- (.+?) -+ \*/")


@dataclass
class Entry:
    """A declaration: a `function`, a `struct`, a `type` or a `constant`."""

    kind: str
    name: str
    doc: str
    code: str
    fields: list = field(default_factory=list)  # of a struct: (declaration, doc)


@dataclass
class Section:
    title: str
    entries: list = field(default_factory=list)


class Header:
    def __init__(self, path=Path(__file__).parents[2] / "include" / "rl.h"):
        text = Path(path).read_text(encoding="utf-8")
        first, rest = text.split("\n#ifdef __cplusplus\n}")[0].split("*/", 1)
        self.summary = re.match(r"librl: (.+)\.", comment(first))[1]
        self.overview = overview(comment(first))
        self.sections = list(sections(rest))

    def entries(self):
        return [entry for section in self.sections for entry in section.entries]


def comment(text):
    """What a comment says, without its frame of stars."""
    lines = text.strip().removesuffix("*/").splitlines()
    lines = [re.sub(r"^ ?(/\*\*?|\*) ?", "", line.strip()) for line in lines]
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def overview(text):
    """The parts of the first page, by their titles in capitals."""
    parts = re.split(r"^([A-Z][A-Z ]+)$", text, flags=re.MULTILINE)[1:]
    return {title.capitalize(): body.strip("\n") for title, body in zip(parts[::2], parts[1::2])}


def sections(text):
    """The first, without a title, has what stands before all others."""
    titles = SECTION.split(text)
    for title, body in zip(["", *titles[1::2]], titles[::2]):
        yield Section(title, [entry for found in declarations(body) for entry in found])


def declarations(body):
    for found in re.finditer(r"^(/\*.*?\*/)\n(.*?)(?=^/\*|\Z)", body, re.DOTALL | re.MULTILINE):
        code = re.sub(r"^#(if|endif|ifdef|ifndef|include).*\n?", "", found[2], flags=re.MULTILINE)
        yield entries(comment(found[1]), code.strip())


def entries(doc, code):
    """One, but for constants that stand together."""
    if constants := re.findall(r"^#define (\w+) (.+)$", code, re.MULTILINE):
        return [Entry("constant", name, doc, value) for name, value in constants]
    if struct := re.match(r"typedef struct (\w+) \{\n(.*)\}", code, re.DOTALL):
        bare = re.sub(r" */\*.*?\*/\n", "", code, flags=re.DOTALL)
        return [Entry("struct", struct[1], doc, bare, list(fields(struct[2])))]
    if code.startswith("typedef"):
        name = re.search(r"\(\*(\w+)\)|(\w+);$", code)
        return [Entry("type", name[1] or name[2], doc, code)]
    if name := re.search(r"(\w+)\(", code):
        return [Entry("function", name[1], doc, code)]
    return []


def fields(body):
    for found in re.finditer(r"(/\*.*?\*/)\n\s*(.*?);", body, re.DOTALL):
        yield found[2], comment(found[1])
