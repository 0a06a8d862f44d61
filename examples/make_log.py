#!/usr/bin/env python3
"""Makes examples/access.log: two hours of a small site, in combined log format.

    python3 examples/make_log.py > examples/access.log

The same every time. All addresses are from the ranges kept for documentation
(RFC 5737, RFC 3849). In it: many visitors of very unequal diligence, a crawler that
pages through the search, three addresses that guess passwords, a scanner, an uptime
monitor, a feed reader, a client that exports too often, and a few lines that no
reader can make sense of. A line carries the time at which its request began and stands
where the request ended, as servers write it.
"""

import sys
from datetime import datetime, timedelta, timezone
from random import Random

# Only random() is used: its numbers are the same in every version of Python.
random = Random(20261010).random

START = datetime(2026, 10, 10, 13, 0, 0, tzinfo=timezone(timedelta(hours=2)))
SECONDS = 7200
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

BROWSERS = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/129.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15",
]

lines = []  # (when it was written, in seconds; text)


def below(end):
    return int(random() * end)


def zipf(count):
    """A number below count; n comes about 1/(n+1) times as often as 0."""
    return int((count + 1) ** random()) - 1


def write(began, took, client, request, status, size, referer="-", agent="-", user="-"):
    at = START + timedelta(seconds=int(began))
    time = f"{at:%d}/{MONTHS[at.month - 1]}/{at:%Y:%H:%M:%S %z}"
    text = f'{client} - {user} [{time}] "{request}" {status} {size} "{referer}" "{agent}"'
    lines.append((began + took, text))


def visitor_address(number):
    if number % 5 == 4:
        return f"2001:db8:{number:x}::{below(3) + 1:x}"
    network = ("198.51.100", "203.0.113")[number % 2]
    return f"{network}.{number % 60 + 1}"


def visitors(count, views):
    addresses = [visitor_address(n) for n in range(count)]
    pages = ["/", "/products", "/about", "/cart", "/search?q=lamp", "/login", "/blog"]
    pages += [f"/products/{n}" for n in range(40)]
    for _ in range(views):
        number = zipf(count)
        client, agent = addresses[number], BROWSERS[number % len(BROWSERS)]
        began = random() * SECONDS
        page = pages[zipf(len(pages))]
        write(began, random() * 0.4, client, f"GET {page} HTTP/1.1", 200, 900 + below(20000),
              "https://shop.example/", agent)
        if random() < 0.3:
            write(began + 0.5, random() * 2, client, "GET /static/site.css?v=7 HTTP/1.1", 304, "-",
                  f"https://shop.example{page}", agent)


def crawler():
    agent = "ExampleBot/2.1 (+https://bot.example/about)"
    write(1800, 0.1, "198.51.100.200", "GET /robots.txt HTTP/1.1", 200, 68, "-", agent)
    for page in range(600):
        write(1801 + page * 0.8, random() * 3, "198.51.100.200",
              f"GET /search?q=all&page={page} HTTP/1.1", 200, 7000 + below(900), "-", agent)


def login_attack():
    for number in range(3):
        client = f"203.0.113.{201 + number}"
        for guess in range(250):
            began = 3600 + number * 40 + guess * 2 + random()
            write(began, 0.2 + random() * 0.3, client, "POST /login HTTP/1.1", 401, 312,
                  "https://shop.example/login", "python-requests/2.32")


def scanner():
    probes = [
        "GET /.env HTTP/1.1",
        "GET /wp-login.php HTTP/1.1",
        r"GET /index.php?q=\"><script> HTTP/1.1",
        r"GET /a\"b HTTP/1.1",
        r"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "GET",
        "-",
        "OPTIONS * HTTP/1.0",
        "CONNECT shop.example:443 HTTP/1.1",
        "GET http://shop.example/proxy?x=1 HTTP/1.1",
    ]
    for number in range(60):
        write(5000 + number * 0.3, random(), "203.0.113.66", probes[number % len(probes)], 400, 226)


def regulars():
    for number in range(SECONDS // 10):
        write(number * 10, 0.01, "192.0.2.53", "HEAD /health HTTP/1.1", 200, "-", "-", "uptime/1.4")
    for number in range(SECONDS // 60):
        write(number * 60 + 7, 0.05, "2001:db8:feed::1", "GET /feed.xml HTTP/1.1", 304, "-", "-",
              "ExampleReader/5")
    for number in range(12):
        write(300 + number * 550, 40 + random() * 100, "192.0.2.77",
              f"GET /export?table={number} HTTP/1.1", 200, 4000000 + below(90000), "-", "curl/8.9.1",
              "backup [nightly]")


def unreadable():
    whole = '192.0.2.9 - - [10/Oct/2026:14:00:00 +0200] "GET / HTTP/1.1" 200 512 "-" "-"'
    for number, text in enumerate([
        whole[:40],
        whole[:60],
        "",
        "logrotate: 14:20 done",
        whole.replace("Oct", "Okt"),
        whole.replace("+0200", "CEST"),
        whole.replace("10/Oct", "31/Sep"),
        whole.replace("GET /", "GET /" + "a" * 17000),
        "\x00\x01\x02\ufffd",
    ]):
        lines.append((700 * number + 650, text))


visitors(300, 2200)
crawler()
login_attack()
scanner()
regulars()
unreadable()
lines.sort(key=lambda line: line[0])
sys.stdout.reconfigure(encoding="utf-8", newline="\n")
for _, text in lines:
    print(text)
