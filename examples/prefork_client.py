#!/usr/bin/env python3
"""Asks the server of prefork.c more than it allows, and counts who answered what.

    prefork_client.py SERVER RULES [--kill]

Starts the server, sends 400 requests of one user over 8 connections at a time, prints a
table of its workers, and ends the server. Exits with 1 unless exactly 100 were allowed,
the limit of prefork.conf, by two workers or more. With --kill the first worker that has
answered 10 is killed with SIGKILL: then one request may be lost, charged or not.
"""

import collections
import concurrent.futures
import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading

LIMIT = 100
REQUESTS = 400
CONNECTIONS = 8
KILLED_AFTER = 10  # of its answers


class Tally:
    """What the workers have answered, and who was killed meanwhile."""

    def __init__(self, workers, kills):
        self.workers = workers  # process ids; worker 1 is the first
        self.answered = collections.Counter()
        self.allowed = collections.Counter()
        self.lost = 0
        self.kills = kills
        self.killed = None
        self.lock = threading.Lock()

    def add(self, worker, status):
        with self.lock:
            self.answered[worker] += 1
            self.allowed[worker] += status == 200
            if self.kills and self.killed is None and self.answered[worker] == KILLED_AFTER:
                os.kill(self.workers[worker - 1], signal.SIGKILL)
                self.killed = worker

    def ask(self, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", "/orders", headers={"X-User": "alice"})
            response = connection.getresponse()
            if response.status not in (200, 429):
                raise RuntimeError(f"the server answers {response.status}")
            self.add(int(response.headers["X-Worker"]), response.status)
        except (ConnectionError, http.client.HTTPException):
            with self.lock:
                self.lost += 1
        finally:
            connection.close()

    def print(self):
        print("worker  answered  allowed")
        for worker in range(1, len(self.workers) + 1):
            note = "  killed" if worker == self.killed else ""
            print(f"{worker:6}  {self.answered[worker]:8}  {self.allowed[worker]:7}{note}")
        answered, allowed = sum(self.answered.values()), sum(self.allowed.values())
        print(f"{'all':>6}  {answered:8}  {allowed:7}")
        if self.lost:
            print(f"{'lost':>6}  {self.lost:8}")
        print(f"\n{allowed} of {REQUESTS} requests passed; the limit is {LIMIT}")

    def faults(self):
        """What is not as it should be."""
        least = LIMIT - 1 if self.kills else LIMIT
        allowed = sum(self.allowed.values())
        if not least <= allowed <= LIMIT:
            yield f"{allowed} were allowed, of a limit of {LIMIT}"
        if self.lost > (1 if self.kills else 0):
            yield f"{self.lost} requests had no answer"
        if len(self.answered) < 2:
            yield "one worker answered all, which shows nothing"
        if self.kills and self.killed is None:
            yield "no worker was killed"


def main(server, rules, kills):
    # A group of its own, so that no worker is left behind whatever happens.
    process = subprocess.Popen(
        [server, rules], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    zone = f"/dev/shm/librl-prefork-{process.pid}"  # where Linux keeps it
    try:
        line = process.stdout.readline().split()
        if not line:
            sys.exit("prefork_client: the server does not start")
        url, _, *workers = line
        port = int(url.rpartition(":")[2])
        tally = Tally([int(worker) for worker in workers], kills)
        with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
            for result in [pool.submit(tally.ask, port) for _ in range(REQUESTS)]:
                result.result()
        process.terminate()
        ended = process.wait(timeout=30)
        left = os.path.exists(zone)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(zone)
    tally.print()
    faults = list(tally.faults())
    if ended != 0:
        faults.append(f"the server ended with {ended}")
    if left:
        faults.append(f"the server has left {zone}")
    for fault in faults:
        print(f"prefork_client: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--kill"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    sys.exit(main(*arguments, kills="--kill" in sys.argv))
