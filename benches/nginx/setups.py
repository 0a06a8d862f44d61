"""What is measured: nginx without a limiter, with limit_req, and with the rl module, in
situations that are the same for all three. Only where it is asked is the rl module loaded, so
that what nginx takes to come to it counts for it. limit_req is always there.

A limit that allows is one that nobody reaches; one that refuses lets the first request
pass. The answer is an empty GIF, or the page of status 429. Where requests are refused,
nginx without a limiter says 429 as well: what is added to that is the limiter's.
"""

from typing import NamedTuple


class Situation(NamedTuple):
    name: str
    key: str = "$arg_user"
    api: str = ""  # limit_req has it at the end of its key
    new: bool = False  # each request has another user
    refused: bool = False
    logged: bool = True  # refusals, as they are by default
    limits: int = 1
    fields: bool = False
    in_log: str = ""  # the variables in an access log: the status, or all


SITUATIONS = [
    Situation("known key, `$binary_remote_addr`", key="$binary_remote_addr"),
    Situation("known key, `$arg_user`"),
    Situation("known key, `$arg_user` and `$uri`", api="$uri"),
    Situation("new key, `$arg_user`", new=True),
    Situation("refused, `$binary_remote_addr`", key="$binary_remote_addr", refused=True),
    Situation("refused, `$arg_user`", refused=True),
    Situation("refused and not logged, `$binary_remote_addr`", key="$binary_remote_addr",
              refused=True, logged=False),
    Situation("refused and not logged, `$arg_user`", refused=True, logged=False),
    Situation("known key, two limits", limits=2),
    Situation("known key, status in an access log", in_log="status"),
    Situation("known key, all variables in an access log", in_log="all"),
    Situation("known key, `RateLimit` fields", fields=True),
    Situation("refused, `RateLimit` fields", refused=True, fields=True),
]


class Setup(NamedTuple):
    """What goes into the configuration, and what nginx answers then."""

    http: str
    location: str
    log_level: str
    first: int
    later: int
    log_lines: int  # for each request but the first
    new: bool = False
    main: str = ""
    rules: str = ""


def setup(situation, http, location, variables):
    if situation.in_log:
        http += f"log_format limits '{variables}';"
        location += "access_log access.log limits;"
    return Setup(http, f"{location} empty_gif;", log_level="error" if situation.logged else "crit",
                 first=200, later=429 if situation.refused else 200,
                 log_lines=int(situation.refused and situation.logged), new=situation.new)


def unlimited(situation):
    refusal = "return 429;" if situation.refused else ""
    made = setup(situation._replace(new=False, logged=True), "", refusal, "-")
    return made._replace(first=made.later, log_lines=0)


def limit_req(situation):
    """None for what it does not have."""
    if situation.fields or situation.in_log == "all":
        return None
    zones = ["one", "two"][:situation.limits]
    burst = "" if situation.refused else "burst=1000000 nodelay"
    key = situation.key + situation.api
    http = "".join(f"limit_req_zone {key} zone={zone}:16m rate=1r/m;" for zone in zones)
    location = "".join(f"limit_req zone={zone} {burst};" for zone in zones)
    return setup(situation, http, location + "limit_req_status 429;", "$limit_req_status")


def rl(situation, module):
    location = f"rl_limit zone user={situation.key} api={situation.api};"
    location += "rl_headers draft;" if situation.fields else ""
    more = "$rl_limit $rl_remaining $rl_retry_after $rl_rule"
    variables = "$rl_status" + (f" {more}" if situation.in_log == "all" else "")
    limits = ["token-bucket,{},1h", "token-bucket,{},1d,per=user"][:situation.limits]
    rules = " + ".join(limits).format(*[1 if situation.refused else 1_000_000] * 2)
    made = setup(situation, "rl_zone zone 16m limits.rules;", location, variables)
    return made._replace(main=f"load_module {module};", rules=f"default = {rules}\n")
