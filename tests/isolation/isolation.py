"""Transfers by stored procedures and by batches, while servers and workers are killed. See `run`.

Clients of both SDKs move money between the accounts of a key; others add up the accounts of a key, by
a query, by a batch of reads and by a query inside a script, and find the same sum at any time.
Meanwhile script workers are killed one by one, the server is killed and started again on its port, and
partitions split and merge. At the end the journal is compared with what was acknowledged.
"""

import argparse
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from bank import COLLECTION, DATABASE, KEYS, PATH, accounts  # noqa: E402
from check import check_all  # noqa: E402
from children import script_workers  # noqa: E402
from http_client import Client  # noqa: E402
from ledger import Ledger  # noqa: E402
from trial import Trial  # noqa: E402

HERE = Path(__file__).parent
PYTHON, JAVASCRIPT = [sys.executable, str(HERE / "client.py")], ["node", str(HERE / "client.mjs")]
CLIENTS = [
    (JAVASCRIPT, "transfer", "javascript-transfers"), (PYTHON, "transfer", "python-transfers"),
    (PYTHON, "raw", "raw-transfers"),
    (JAVASCRIPT, "read", "javascript-reads"), (PYTHON, "read", "python-reads"),
]  # fmt: skip
FILLERS = 400
WORKERS = 8
TRANSFERS, KILLS, LOSSES, SPLITS = 1000, 2, 10, 3   # what the short form comes to
SHORT_MAX_S = 300                                   # by then a slow machine has come so far, too
BETWEEN_KILLS_S = {True: (8, 12), False: (20, 40)}  # of the short form and the long one
BETWEEN_RESHAPES_S = {True: (0.1, 1.2), False: (2, 6)}
BETWEEN_LOSSES_S = (0.2, 1.0)


class WorkerKiller(threading.Thread):
    """Kills one script worker after the other."""

    def __init__(self, test):
        super().__init__(daemon=True)
        self.test, self.rng = test, random.Random(f"{test.seed}-workers")
        self._stopping = threading.Event()

    def run(self):
        while not self._stopping.wait(self.rng.uniform(*BETWEEN_LOSSES_S)):
            self.test.life.wait_until_up()
            if workers := script_workers(self.test.server.process.pid):
                killed = time.time()
                try:
                    os.kill(self.rng.choice(workers), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                # The clocks of clients are read a moment before and after.
                self.test.ledger.losses += [killed, time.time()]
                self.test.losses += 1

    def stop(self):
        self._stopping.set()
        self.join()


class Test(Trial):
    """Transfers, until so many are acknowledged; `None` for the short form."""

    def __init__(self, seed, transfers):
        super().__init__("isolation", seed, (DATABASE, COLLECTION), Ledger(), ("--script-workers", WORKERS),
                         between_s=BETWEEN_RESHAPES_S[not transfers])
        self.wanted, self.losses, self.entries = transfers, 0, 0
        self.killer = WorkerKiller(self)

    def set_up(self):
        client = Client(self.server.port)
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        fillers = [{"id": f"filler{n}", "pk": f"other{n}", "kind": "filler", "text": "y" * 800} for n in range(FILLERS)]
        scripts = [{"id": name, "body": (HERE / f"{name}.js").read_text()} for name in ("transfer", "total")]
        made = [client.post("/dbs", {"id": DATABASE}),
                client.post(f"/dbs/{DATABASE}/colls", {"id": COLLECTION, "partitionKey": key})]
        made += [client.post(f"{PATH}/docs", document) for document in accounts() + fillers]
        made += [client.post(f"{PATH}/sprocs", script) for script in scripts]
        for answer in made:
            assert answer.status == 201, answer
        client.close()
        self.start_clients(CLIENTS)
        self.killer.start()

    def is_over(self, seconds):
        if self.wanted:
            return self.ledger.transfers >= self.wanted
        if seconds > SHORT_MAX_S:
            self.ledger.problem(f"after {seconds:.0f} s: {self.progress()}")
            return True
        return (self.ledger.transfers >= TRANSFERS and self.kills >= KILLS and self.losses >= LOSSES
                and self.reshaper.splits >= SPLITS)

    def progress(self):
        return f"{self.ledger.transfers} transfers, {self.losses} workers lost, {super().progress()}"

    def judge(self):
        self.killer.stop()
        self.ledger.judge()
        for way in ("procedure", "replace", "patch"):
            if self.ledger.counts[way, "done"] < 10:
                self.ledger.problem(f"only {self.ledger.counts[way, 'done']} transfers by {way}")
        self.entries = check_all(self.ledger, self.server.port)


def report(test, seconds):
    ledger = test.ledger
    counts = {way: {outcome: count for (by, outcome), count in sorted(ledger.counts.items()) if by == way}
              for way in ("procedure", "replace", "patch")}
    print(f"{ledger.transfers} acknowledged transfers ({ledger.transfers / seconds:.0f}/s) between {len(KEYS)} keys' "
          f"accounts, {test.entries} in the journal ({ledger.unclear} by "
          f"tries without an answer), {sum(ledger.reads.values())} sums read {dict(ledger.reads)}")
    for way, outcomes in counts.items():
        print(f"  by {way}: {outcomes}")
    print(f"{test.kills} kills, {test.losses} workers killed, {test.reshaper.splits} splits, {test.reshaper.merges} merges, "
          f"{test.verified} times verified, {ledger.stale} stale batches, refusals {dict(ledger.refusals)}, {seconds:.0f} s; seed {test.seed}")


def main():
    parser = argparse.ArgumentParser(description="transfers under kills: the sum never changes")
    parser.add_argument("--transfers", type=int, help="go on until so many are acknowledged")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first problem")
    arguments = parser.parse_args()
    test, is_short = Test(arguments.seed, arguments.transfers), not arguments.transfers
    seconds = test.run(BETWEEN_KILLS_S[is_short], KILLS if is_short else None, arguments.keep_going)
    report(test, seconds)
    return test.verdict()


if __name__ == "__main__":
    sys.exit(main())
