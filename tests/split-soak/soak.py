"""Splits, merges and kills under clients that go on working. See `run`.

Five clients (a writer and a reader of each SDK, and one that goes range by range) start before the first split and work to the end, so
what they remember of ranges, sessions and connections grows old. Meanwhile partitions split and
merge, and the server is killed, half of the times in the middle of a split or merge, and started
again on its port. At the end every document is compared with what was acknowledged.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import clients  # noqa: E402
from check import check_all  # noqa: E402
from data import COLLECTION, DATABASE, PATH, fixed, key  # noqa: E402
from http_client import Client  # noqa: E402
from ledger import Ledger  # noqa: E402
from life import Life, free_port  # noqa: E402
from reshape import Reshaper  # noqa: E402
from server import Server, verify  # noqa: E402

FILLERS = 1500          # they make a split long enough to be killed in
BETWEEN_KILLS_S = (12, 20)
SPLITS, KILLS = 15, 3   # the short form
SHORT_MAX_S = 300       # by then a slow machine has come so far, too
SPLITS_PER_MINUTE = 3   # the least of the long form
UNDER_WAY_S = 15        # longest wait for a split to be killed in


class Soak:
    """One data directory through many lives of the server."""

    def __init__(self, scratch, seed):
        self.scratch, self.seed = scratch, seed
        self.rng = random.Random(seed)
        self.ledger, self.life = Ledger(), Life()
        self.kills = self.verified = 0
        self.server = Server("--rate-limit", "never", data_dir=scratch / "data",
                             log=scratch / "server.log", port=free_port())
        self.set_up()
        log = scratch / "clients.log"
        self.clients = clients.start(self.server.endpoint, seed, self.ledger, log)
        self.reshaper = Reshaper(self.server.port, self.server.endpoint, (DATABASE, COLLECTION), seed,
                                 self.ledger, self.life)

    def set_up(self):
        """The collection, and what nobody changes."""
        client = Client(self.server.port)
        made = client.post("/dbs", {"id": DATABASE})
        assert made.status == 201, made
        order = [{"path": "/group", "order": "ascending"}, {"path": "/n", "order": "descending"}]
        body = {
            "id": COLLECTION, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
            "indexingPolicy": {"indexingMode": "consistent", "compositeIndexes": [order]},
        }  # fmt: skip
        made = client.post(f"/dbs/{DATABASE}/colls", body)
        assert made.status == 201, made
        fillers = [{"id": f"filler{n}", "pk": key(n), "kind": "filler", "n": n, "text": "y" * 800}
                   for n in range(FILLERS)]
        documents = fixed() + fillers

        def fill(part):
            mine = Client(self.server.port)
            for document in part:
                made = mine.post(f"{PATH}/docs", document)
                assert made.status == 201, made
            mine.close()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(fill, (documents[number::8] for number in range(8))))

    def run(self, minutes, keep_going):
        started = time.monotonic()
        self.reshaper.start()
        next_kill = started + self.rng.uniform(*BETWEEN_KILLS_S)
        while keep_going or not self.ledger.problems:
            now = time.monotonic()
            is_short_done = self.reshaper.splits >= SPLITS and self.kills >= KILLS
            if now - started > (minutes * 60 if minutes else SHORT_MAX_S) or (not minutes and is_short_done):
                break
            if now >= next_kill and (minutes or self.kills < KILLS):
                self.kill()
                next_kill = time.monotonic() + self.rng.uniform(*BETWEEN_KILLS_S)
            time.sleep(0.05)
        if not self.ledger.problems and self.reshaper.splits < (minutes * SPLITS_PER_MINUTE if minutes else SPLITS):
            self.ledger.problem(f"only {self.reshaper.splits} splits: the server does not come to them")
        return time.monotonic() - started

    def kill(self):
        if self.kills % 2 == 0 and self.reshaper.begun.wait(UNDER_WAY_S):
            usual = sum(self.reshaper.took_s[-9:]) / len(self.reshaper.took_s[-9:])
            time.sleep(self.rng.uniform(0, usual))
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
        self.reshaper.stop()
        for client in self.clients:
            client.stop()
        for client in self.clients:
            client.wait()
        self.ledger.judge_connection_errors()
        for client in self.clients:
            done = self.ledger.writes[client.name] if client.role == "write" else sum(
                count for (name, _), count in self.ledger.asked.items() if name == client.name)
            if done < 10:
                self.ledger.problem(f"{client.name} did {done} things only")
        check_all(self.ledger, self.server.port, FILLERS)
        if (code := self.server.stop()) != 0:
            self.ledger.problem(f"after SIGTERM the server exits with {code}")
        self.verify()
        if "panicked at" in (self.scratch / "server.log").read_text():
            self.ledger.problem("the server panicked: see its log")


def report(soak, seconds):
    ledger, reshaper = soak.ledger, soak.reshaper
    writes, queries = sum(ledger.writes.values()), sum(ledger.asked.values())
    print(f"{reshaper.splits} splits, {reshaper.merges} merges, {soak.kills} kills "
          f"({reshaper.interrupted} in a split or merge), {soak.verified} times verified, {seconds:.0f} s")
    print(f"{writes} acknowledged writes ({writes / seconds:.0f}/s), {ledger.reads} reads, {queries} queries and "
          f"feeds, {len(ledger.connection_errors)} broken connections")
    print(f"longest pause of writes {reshaper.longest_pause_ms:.1f} ms, longest write that no kill was in "
          f"{ledger.longest_write_s * 1000:.0f} ms; seed {soak.seed}")
    problems = len(ledger.problems)
    if problems:
        print(f"{problems} problems; data and logs are in {soak.scratch}")
    else:
        shutil.rmtree(soak.scratch)
    print(f"{0 if problems else 1} passed, {1 if problems else 0} failed")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description="splits, merges and kills under the real SDKs")
    parser.add_argument("--minutes", type=float, help="run this long instead of a number of splits")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first problem")
    arguments = parser.parse_args()
    soak = Soak(Path(tempfile.mkdtemp(prefix="sheaf-split-")), arguments.seed)
    seconds = 0
    try:
        seconds = soak.run(arguments.minutes, arguments.keep_going)
        soak.finish()
    except Exception as error:  # a server that does not start again is the worst finding of all
        soak.ledger.problem(f"{error!r}")
    finally:
        if soak.server.process.poll() is None:
            soak.server.kill()
    return report(soak, seconds or 1)


if __name__ == "__main__":
    sys.exit(main())
