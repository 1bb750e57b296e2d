"""Splits, merges and kills under clients that go on working. See `run`.

Five clients (a writer and a reader of each SDK, and one that goes range by range) start before the first split and work to the end, so
what they remember of ranges, sessions and connections grows old. Meanwhile partitions split and
merge, and the server is killed, half of the times in the middle of a split or merge, and started
again on its port. At the end every document is compared with what was acknowledged.
"""

import argparse
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from check import check_all  # noqa: E402
from data import COLLECTION, DATABASE, PATH, fixed, key  # noqa: E402
from http_client import Client  # noqa: E402
from ledger import Ledger  # noqa: E402
from trial import Trial  # noqa: E402

HERE = Path(__file__).parent
PYTHON, JAVASCRIPT = [sys.executable, str(HERE / "client.py")], ["node", str(HERE / "client.mjs")]
CLIENTS = [
    (PYTHON, "write", "python-writer"), (PYTHON, "query", "python-reader"), (PYTHON, "ranges", "python-ranges"),
    (JAVASCRIPT, "write", "javascript-writer"), (JAVASCRIPT, "query", "javascript-reader"),
]  # fmt: skip
FILLERS = 1500          # they make a split long enough to be killed in
BETWEEN_KILLS_S = (12, 20)
SPLITS, KILLS = 15, 3   # the short form
SHORT_MAX_S = 300       # by then a slow machine has come so far, too
SPLITS_PER_MINUTE = 3   # the least of the long form
UNDER_WAY_S = 15        # longest wait for a split to be killed in


class Soak(Trial):
    """So many minutes; `None` for the short form."""

    def __init__(self, seed, minutes):
        super().__init__("split", seed, (DATABASE, COLLECTION), Ledger())
        self.minutes = minutes

    def set_up(self):
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

        self.start_clients(CLIENTS)

    def is_over(self, seconds):
        if self.minutes:
            return seconds > self.minutes * 60
        return seconds > SHORT_MAX_S or self.reshaper.splits >= SPLITS and self.kills >= KILLS

    def kill(self):
        """Every other time in the middle of a split or merge."""
        if self.kills % 2 == 0 and self.reshaper.begun.wait(UNDER_WAY_S):
            usual = sum(self.reshaper.took_s[-9:]) / len(self.reshaper.took_s[-9:])
            time.sleep(self.rng.uniform(0, usual))
        super().kill()

    def judge(self):
        expected = self.minutes * SPLITS_PER_MINUTE if self.minutes else SPLITS
        if not self.ledger.problems and self.reshaper.splits < expected:
            self.ledger.problem(f"only {self.reshaper.splits} splits: the server does not come to them")
        self.ledger.judge_connection_errors()
        for client in self.clients:
            done = self.ledger.writes[client.name] if client.role == "write" else sum(
                count for (name, _), count in self.ledger.asked.items() if name == client.name)
            if done < 10:
                self.ledger.problem(f"{client.name} did {done} things only")
        check_all(self.ledger, self.server.port, FILLERS)


def report(soak, seconds):
    ledger, reshaper = soak.ledger, soak.reshaper
    writes, queries = sum(ledger.writes.values()), sum(ledger.asked.values())
    print(f"{reshaper.splits} splits, {reshaper.merges} merges, {soak.kills} kills "
          f"({reshaper.interrupted} in a split or merge), {soak.verified} times verified, {seconds:.0f} s")
    print(f"{writes} acknowledged writes ({writes / seconds:.0f}/s), {ledger.reads} reads, {queries} queries and "
          f"feeds, {len(ledger.connection_errors)} broken connections")
    print(f"longest pause of writes {reshaper.longest_pause_ms:.1f} ms, longest write that no kill was in "
          f"{ledger.longest_write_s * 1000:.0f} ms; seed {soak.seed}")


def main():
    parser = argparse.ArgumentParser(description="splits, merges and kills under the real SDKs")
    parser.add_argument("--minutes", type=float, help="run this long instead of a number of splits")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first problem")
    arguments = parser.parse_args()
    soak = Soak(arguments.seed, arguments.minutes)
    seconds = soak.run(BETWEEN_KILLS_S, None if arguments.minutes else KILLS, arguments.keep_going)
    report(soak, seconds)
    return soak.verdict()


if __name__ == "__main__":
    sys.exit(main())
