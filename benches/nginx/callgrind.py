"""Reads what callgrind writes: instructions in all, by function, and by source file."""

import re
from collections import Counter
from pathlib import PurePath

NAMED = re.compile(r"(c?)(ob|fn|fl|fi|fe)=(\(\d+\))(?: (.*))?")
COST = re.compile(r"[+*\-\d]\S* (\d+)$")


def total(text):
    return int(re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)[1])


class Costs:
    """Instructions by function: its own, and those of all that it calls as well; and by
    source file, where an inlined function counts for the file that it was written in.
    Functions and files go with the name of the program or library that they are in."""

    def __init__(self, text=""):
        self.own, self.whole, self.files = Counter(), Counter(), Counter()
        self.names, self.here = {}, {}
        is_call = False
        for line in text.splitlines():
            if named := NAMED.match(line):
                self.enter(*named.groups())
            elif line.startswith("calls="):
                is_call = True  # The next line is what that cost in there.
            elif cost := COST.match(line):
                self.add(int(cost[1]), is_call)
                is_call = False

    def enter(self, called, kind, number, name):
        """A name stands where it is first met, and afterwards its number alone."""
        kind = kind if kind in ("ob", "fn") else "file"
        name = self.names.setdefault((kind, number), name)
        if not called:
            self.here[kind] = name

    def add(self, cost, is_call):
        place = PurePath(self.here["ob"]).name
        name = self.here["fn"]
        function = place, "(no symbol)" if name.startswith("0x") else name
        self.whole[function] += cost
        if not is_call:
            self.own[function] += cost
            self.files[place, self.here["file"]] += cost

    def minus(self, other, divisor=1):
        difference = Costs()
        for name in ("own", "whole", "files"):
            counts = Counter(getattr(self, name))
            counts.subtract(getattr(other, name))
            setattr(difference, name, Counter({k: v / divisor for k, v in counts.items()}))
        return difference
