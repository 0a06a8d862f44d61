"""Counts the instructions that a limiter adds to a request in nginx: limit_req, and the rl
module. Needs nginx and valgrind; prints tables in Markdown.

They are those of user space, of nginx in one process: the difference of two runs, divided
by that of their numbers of requests, so that starting is not in it. Nor is what the vDSO does
for a call of the clock: valgrind makes it a system call. Where nginx has no symbols of its
static functions, a profile has one line for them all.
"""

import argparse
import re
from functools import lru_cache
from pathlib import Path

import callgrind
import server
import setups

FEW, MANY = 500, 2_500

# A function or file that adds less is not listed.
LEAST = 5

# What stands before the part of a path that tells something.
PREFIX = re.compile(r".*?(?:/library/|/registry/src/[^/]+/|/(?=(?:src|integrations)/))")


def main():
    parser = argparse.ArgumentParser(prog="benches/nginx", description=__doc__.partition(".")[0])
    parser.add_argument("module", help="ngx_http_rl_module.so", type=Path)
    parser.add_argument("--only", metavar="TEXT", default="", help="situations named like that")
    parser.add_argument("--profile", action="store_true",
                        help="by function and source file, what the rl module adds")
    asked = parser.parse_args()
    situations = [each for each in setups.SITUATIONS if asked.only in each.name]
    if not situations or not asked.module.is_file():
        parser.error("there is no such situation, or module")
    (profiles if asked.profile else table)(situations, asked.module.resolve())


def table(situations, module):
    row("instructions a request", "no limiter", "`limit_req` adds", "rl adds")
    row("---", "---:", "---:", "---:")
    for situation in situations:
        base = instructions(setups.unlimited(situation))
        adding = [setups.limit_req(situation), setups.rl(situation, module)]
        row(situation.name, f"{base:,.0f}",
            *[f"{instructions(setup) - base:,.0f}" if setup else "" for setup in adding])
    none = setups.unlimited(setups.SITUATIONS[0])
    loaded = none._replace(main=f"load_module {module};")
    passing_by = instructions(loaded) - instructions(none)
    print(f"\nThe module adds {passing_by:.0f} to a request that has no limit.")


@lru_cache(maxsize=None)
def instructions(setup):
    few, many = (callgrind.total(server.profile(setup, count)) for count in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def profiles(situations, module):
    for situation in situations:
        added = costs(setups.rl(situation, module)).minus(costs(setups.unlimited(situation)))
        print(f"## {situation.name}\n")
        functions(added)
        files(added)


@lru_cache(maxsize=None)
def costs(setup):
    few, many = (callgrind.Costs(server.profile(setup, count)) for count in (FEW, MANY))
    return many.minus(few, MANY - FEW)


def functions(added):
    row("added", "with what it calls", "function")
    row("---:", "---:", "---")
    for (place, name), own in greatest(added.own):
        row(f"{own:,.0f}", f"{added.whole[place, name]:,.0f}", f"{place} `{name}`")
    row(f"{sum(added.own.values()):,.0f}", "", "all")
    print()


def files(added):
    row("added", "in code that was written in")
    row("---:", "---")
    for (place, name), own in greatest(added.files):
        row(f"{own:,.0f}", f"{place} `{PREFIX.sub('', name, 1)}`")
    print()


def greatest(added):
    return [(key, own) for key, own in added.most_common() if abs(own) >= LEAST]


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
