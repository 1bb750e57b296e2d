"""Splits and merges, one after the other, and what must hold of the ranges in between."""

import http.client
import os
import random
import re
import subprocess
import threading
import time

from http_client import Client
from server import binary

RANGES = (2, 10)  # the least and the most
BETWEEN_S = (0.1, 1.2)
GONE = (OSError, http.client.HTTPException)


class Reshaper(threading.Thread):
    """Reshapes a collection, (database, collection), until it is stopped."""

    def __init__(self, port, endpoint, collection, seed, ledger, life, between_s=BETWEEN_S, ranges=RANGES):
        super().__init__(daemon=True)
        self.database, self.collection = collection
        self.between_s, (self.ranges_min, self.ranges_max) = between_s, ranges
        self.path = f"/dbs/{self.database}/colls/{self.collection}"
        self.client, self.endpoint = Client(port), endpoint
        self.rng, self.ledger, self.life = random.Random(f"{seed}-reshape"), ledger, life
        self.splits = self.merges = self.refused = self.interrupted = 0
        self.longest_pause_ms = 0
        self.took_s = [0.05]
        self.begun = threading.Event()
        self._stopping = threading.Event()
        self._known = {}   # every range that was ever seen
        self._etag = None

    def run(self):
        while not self._stopping.wait(self.rng.uniform(*self.between_s)):
            generation = self.life.wait_until_up()
            try:
                self.step()
            except Exception as error:
                if self.life.is_same(generation):
                    self.ledger.problem(f"reshaping: {error!r}")
                elif not isinstance(error, (*GONE, Interrupted)):
                    self.ledger.problem(f"reshaping in a kill: {error!r}")
                self.interrupted += 1
                self.client.close()
            finally:
                self.begun.clear()

    def stop(self):
        self._stopping.set()
        self.join()

    def step(self):
        ranges = self.ranges()
        if len(ranges) <= self.ranges_min:
            action = "split"
        elif len(ranges) >= self.ranges_max:
            action = "merge"
        else:
            action = "split" if self.rng.random() < 0.6 else "merge"
        # Of all but the last, which has no neighbour.
        target = self.rng.choice(ranges if action == "split" else ranges[:-1])
        started = time.monotonic()
        self.begun.set()
        way = self.by_command if self.rng.random() < 0.3 else self.by_call
        outcome = way(action, target["id"])
        self.took_s.append(time.monotonic() - started)
        if outcome is None:
            self.refused += 1
            return
        parents, children, pause = outcome
        self.longest_pause_ms = max(self.longest_pause_ms, pause)
        expected = (1, 2) if action == "split" else (2, 1)
        if (len(parents), len(children)) != expected or target["id"] not in parents:
            self.ledger.problem(f"{action} of {target['id']}: {parents} became {children}")
        if action == "split":
            self.splits += 1
        else:
            self.merges += 1
        now = {range["id"]: range for range in self.ranges()}
        for child in children:
            if child not in now or not set(parents) <= set(now[child]["parents"]):
                self.ledger.problem(f"{action}: range {child} does not say that it comes from {parents}")

    def by_call(self, action, id):
        answer = self.client.post(f"/_sheaf{self.path}/pkranges/{id}/{action}")
        # A server that has just started may still be clearing up after a split that was killed.
        if answer.status == 409 or (answer.status == 400 and "cannot be" in answer.message):
            return None
        if answer.status != 200:
            raise RuntimeError(f"{action} of {id}: {answer}")
        body = answer.json
        return body["parents"], [child["id"] for child in body["children"]], body["writesPausedMs"]

    def by_command(self, action, id):
        where = ["-d", self.database, "-c", self.collection, "--endpoint", self.endpoint]
        command = [binary(), "partition", action, *where, id]
        settings = {name: value for name, value in os.environ.items() if name[:6] != "SHEAF_"}
        done = subprocess.run(command, capture_output=True, text=True, env=settings, check=False)
        if done.returncode == 4 and ("cannot be" in done.stderr or "409 Conflict" in done.stderr):
            return None
        found = re.fullmatch(r"ranges? (.+) became ranges? (.+); writes waited for ([\d.]+) ms\n", done.stdout)
        if found:
            return found[1].split(" and "), found[2].split(" and "), float(found[3])
        if "cannot reach a server" in done.stderr or "closed the connection" in done.stderr:
            raise Interrupted(done.stderr)
        raise RuntimeError(f"{action} of {id}: exit {done.returncode}: {done.stderr}")

    def ranges(self):
        """The ranges in their order, checked: one next to the other, none ever with other bounds."""
        answer = self.client.get(f"{self.path}/pkranges")
        ranges = sorted(answer.json["PartitionKeyRanges"], key=lambda range: range["minInclusive"])
        bounds = [""] + [range["maxExclusive"] for range in ranges]
        if bounds[-1] != "FF" or [range["minInclusive"] for range in ranges] != bounds[:-1]:
            self.ledger.problem(f"ranges with gaps or overlaps: {ranges}")
        for range in ranges:
            known = self._known.setdefault(range["id"], range)
            if any(known[name] != range[name] for name in ("minInclusive", "maxExclusive", "parents", "_rid")):
                self.ledger.problem(f"range {range['id']} was {known} and is {range}")
        again = self.client.get(f"{self.path}/pkranges", {"A-IM": "Incremental Feed", "If-None-Match": answer.etag})
        if again.status != 304:
            self.ledger.problem(f"ranges that did not change answer {again}")
        return ranges


class Interrupted(Exception):
    """The server went away under a command."""
