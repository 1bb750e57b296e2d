"""Transfers by stored procedures and by batches, while servers and workers are killed. See `run`.

Clients of both SDKs move money between the accounts of a key; others add up the accounts of a key, by
a query, by a batch of reads and by a query inside a script, and find the same sum at any time.
Meanwhile script workers are killed one by one, the server is killed and started again on its port, and
partitions split and merge. At the end the journal is compared with what was acknowledged.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from bank import COLLECTION, DATABASE, KEYS, PATH, accounts  # noqa: E402
from check import check_all  # noqa: E402
from children import script_workers  # noqa: E402
from client_process import Client as Process  # noqa: E402
from http_client import Client  # noqa: E402
from ledger import Ledger  # noqa: E402
from life import Life, free_port  # noqa: E402
from reshape import Reshaper  # noqa: E402
from server import Server, verify  # noqa: E402

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


class Test:
    """One data directory through many lives of the server."""

    def __init__(self, scratch, seed, is_short):
        self.scratch, self.seed, self.rng = scratch, seed, random.Random(seed)
        self.ledger, self.life = Ledger(), Life()
        self.kills = self.losses = self.verified = self.entries = 0
        self.server = Server("--rate-limit", "never", "--script-workers", WORKERS, data_dir=scratch / "data",
                             log=scratch / "server.log", port=free_port())
        self.set_up()
        self.clients = [
            Process(command, role, name, self.server.endpoint, seed, self.ledger, scratch / "clients.log")
            for command, role, name in CLIENTS
        ]
        for client in self.clients:
            client.is_ready.wait()
        self.reshaper = Reshaper(self.server.port, self.server.endpoint, (DATABASE, COLLECTION), seed,
                                 self.ledger, self.life, BETWEEN_RESHAPES_S[is_short])
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

    def is_done(self, transfers):
        if transfers:
            return self.ledger.transfers >= transfers
        return (self.ledger.transfers >= TRANSFERS and self.kills >= KILLS and self.losses >= LOSSES
                and self.reshaper.splits >= SPLITS)

    def run(self, transfers, keep_going):
        started = said = time.monotonic()
        self.reshaper.start()
        self.killer.start()
        between = BETWEEN_KILLS_S[not transfers]
        next_kill = started + self.rng.uniform(*between)
        while (keep_going or not self.ledger.problems) and not self.is_done(transfers):
            now = time.monotonic()
            if not transfers and now - started > SHORT_MAX_S:
                self.ledger.problem(f"after {now - started:.0f} s: {self.ledger.transfers} transfers, {self.kills} kills, "
                                    f"{self.losses} workers lost, {self.reshaper.splits} splits")
            if now >= next_kill and (transfers or self.kills < KILLS):
                self.kill()
                next_kill = time.monotonic() + self.rng.uniform(*between)
            if now - said > 30:
                said = now
                print(f"{now - started:.0f} s: {self.ledger.transfers} transfers", flush=True)
            time.sleep(0.05)
        return time.monotonic() - started

    def kill(self):
        if self.server.process.poll() is not None:
            self.ledger.problem(f"the server ended by itself: exit code {self.server.process.returncode}")
        killed = time.time()
        self.life.end()
        self.server.kill()
        self.kills += 1
        if self.kills % 2 == 0:
            self.verify()
        self.server.start()
        self.ledger.lives.append((killed, time.time()))
        self.life.begin()

    def verify(self):
        code, said = verify(self.scratch / "data")
        self.verified += 1
        if code != 0:
            self.ledger.problem(f"verify exits {code}: {said}")

    def finish(self):
        """Lets everybody finish, and looks at everything once more."""
        self.killer.stop()
        self.reshaper.stop()
        for client in self.clients:
            client.stop()
        for client in self.clients:
            client.wait()
        self.ledger.judge()
        for way in ("procedure", "replace", "patch"):
            if self.ledger.counts[way, "done"] < 10:
                self.ledger.problem(f"only {self.ledger.counts[way, 'done']} transfers by {way}")
        self.entries = check_all(self.ledger, self.server.port)
        if (code := self.server.stop()) != 0:
            self.ledger.problem(f"after SIGTERM the server exits with {code}")
        self.verify()
        if "panicked at" in (self.scratch / "server.log").read_text():
            self.ledger.problem("the server panicked: see its log")


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
    problems = len(ledger.problems)
    if problems:
        print(f"{problems} problems; data and logs are in {test.scratch}")
    else:
        shutil.rmtree(test.scratch)
    print(f"{0 if problems else 1} passed, {1 if problems else 0} failed")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description="transfers under kills: the sum never changes")
    parser.add_argument("--transfers", type=int, help="go on until so many are acknowledged")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first problem")
    arguments = parser.parse_args()
    test = Test(Path(tempfile.mkdtemp(prefix="sheaf-isolation-")), arguments.seed, not arguments.transfers)
    seconds = 0
    try:
        seconds = test.run(arguments.transfers, arguments.keep_going)
        test.finish()
    except Exception as error:  # a server that does not start again is the worst finding of all
        test.ledger.problem(f"{error!r}")
    finally:
        if test.server.process.poll() is None:
            test.server.kill()
    return report(test, seconds or 1)


if __name__ == "__main__":
    sys.exit(main())
