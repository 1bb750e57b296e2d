"""Writers, documents that expire, splits, merges and kills, and followers of the change feed: see `run`."""

import argparse
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from findings import Findings  # noqa: E402
from followers import All, Latest, PlainFollower, SdkFollower  # noqa: E402
from http_client import Client  # noqa: E402
from trial import Trial  # noqa: E402
from writers import COLLECTION, DATABASE, Writer  # noqa: E402

WRITERS = 3
ALL_VERSIONS = "Full-Fidelity Feed"
RANGES = (1, 5)
SWEEP_PATIENCE_S = 120
# The position of a collection that is the first of its server, before anything is written.
FIRST_LSN = '"1"'


class Soak(Trial):
    """Writers and followers for some minutes, and followers who come when all is done."""

    def __init__(self, seed, minutes):
        super().__init__("change", seed, (DATABASE, COLLECTION), Findings(), ranges=RANGES)
        port, self.seconds = self.server.port, minutes * 60
        self.stop = threading.Event()
        self.writers = [Writer(number, port, self.stop) for number in range(WRITERS)]
        self.all_versions = PlainFollower("all versions", port, All(True), ALL_VERSIONS, "*")
        self.sdk_followers = [
            SdkFollower("latest versions, SDK", port, Latest(False), start_time="Beginning"),
            SdkFollower("all versions, SDK", port, All(False), mode="AllVersionsAndDeletes"),
        ]
        self.followers = [*self.sdk_followers, PlainFollower("latest versions", port, Latest(True)), self.all_versions]
        self.late = [
            PlainFollower("latest versions at once", port, Latest(True)),
            PlainFollower("all versions at once", port, All(True), ALL_VERSIONS, FIRST_LSN),
        ]

    def set_up(self):
        client = Client(self.server.port)
        assert client.post("/dbs", {"id": DATABASE}).status == 201
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        policy = {"retentionDuration": 1440}
        body = {"id": COLLECTION, "partitionKey": key, "changeFeedPolicy": policy, "defaultTtl": -1}
        assert client.post(f"/dbs/{DATABASE}/colls", body).status == 201
        client.close()
        for follower in self.sdk_followers:
            follower.begin()
        self.all_versions.look()
        for thread in [*self.writers, *self.followers]:
            thread.start()

    def is_over(self, seconds):
        return seconds > self.seconds

    def judge(self):
        self.stop.set()
        for writer in self.writers:
            writer.join()
        self.wait_for_sweep()
        for follower in self.followers + self.late:
            follower.is_last.set()
        for follower in self.followers:
            follower.join()
        for follower in self.late:
            follower.run()
        histories, perhaps = {}, {}
        for writer in self.writers:
            histories |= writer.history
            perhaps |= writer.perhaps
        for thread in [*self.writers, *self.followers, *self.late]:
            if thread.failure:
                self.ledger.problem(thread.failure)
        for follower in self.followers + self.late:
            for problem in follower.reader.problems(histories, perhaps):
                self.ledger.problem(f"{follower.name}: {problem}")
        happened = [self.reshaper.splits, self.reshaper.merges, self.mortals(), self.sdk_followers[1].reader.changes]
        if not all(happened):
            self.ledger.problem("nothing happened")

    def mortals(self):
        return set().union(*(writer.mortals for writer in self.writers))

    def wait_for_sweep(self):
        """Until the feed has told the end of every document that expires."""
        mortals, expired = self.mortals(), self.all_versions.reader.expired
        end = time.monotonic() + SWEEP_PATIENCE_S
        while not mortals <= expired and self.all_versions.is_alive():
            assert time.monotonic() < end, f"not swept: {sorted(mortals - expired)[:5]}"
            time.sleep(0.1)


def report(soak):
    writes, unknown = sum(it.writes for it in soak.writers), sum(it.unknown for it in soak.writers)
    print(f"{writes} writes ({unknown} without an answer), {len(soak.mortals())} expired, {soak.progress()}; "
          f"seed {soak.seed}")
    for follower in soak.followers + soak.late:
        print(f"{follower.name}: {follower.pages} pages, {follower.errors} failures, {follower.reader.repeated} repeated")


def main():
    parser = argparse.ArgumentParser(description="followers of the change feed under splits, merges and kills")
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int)
    options = parser.parse_args()
    kills = options.kills if options.kills is not None else max(2, int(options.minutes * 2))
    soak = Soak(options.seed, options.minutes)
    apart = soak.seconds / (kills + 1)
    soak.run((apart, apart), kills)
    report(soak)
    return soak.verdict()


if __name__ == "__main__":
    sys.exit(main())
