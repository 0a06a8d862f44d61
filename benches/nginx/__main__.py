"""Counts the instructions that a limiter adds to a request in nginx: limit_req, and the rl
module.

    python3 -B benches/nginx [--profile] MODULE

MODULE is ngx_http_rl_module.so. Needs nginx and valgrind. Prints a table in Markdown; with
--profile, the functions and source files that the instructions of the rl module stand in.
They are those of user space, of nginx in one process: the difference of two runs, divided
by that of their numbers of requests.
"""

import sys
from pathlib import Path

import callgrind
import server
import setups

FEW, MANY = 500, 2_500


def main(arguments):
    with_profile = arguments[:1] == ["--profile"]
    modules = arguments[with_profile:]
    if len(modules) != 1:
        sys.exit(__doc__)
    rl = setups.rl(Path(modules[0]).resolve(strict=True))
    profiles(rl) if with_profile else table(rl)


def table(rl):
    row("instructions a request", "no limiter", "`limit_req` adds", "rl adds")
    row("---", "---:", "---:", "---:")
    bases = {}
    for situation in setups.SITUATIONS:
        setup = setups.unlimited(situation)
        if setup not in bases:
            bases[setup] = instructions(setup)
        base = bases[setup]
        req = "" if situation.fields else f"{instructions(setups.limit_req(situation)) - base:,.0f}"
        row(situation.name, f"{base:,.0f}", req, f"{instructions(rl(situation)) - base:,.0f}")


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def instructions(setup):
    few, many = (callgrind.total(server.profile(setup, count)) for count in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def profiles(rl):
    for situation in setups.SITUATIONS:
        added = costs(rl(situation))
        added.subtract(costs(setups.unlimited(situation)))


if __name__ == "__main__":
    main(sys.argv[1:])
