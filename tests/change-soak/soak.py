"""Writers, documents that expire, splits, merges and kills, and followers of the change feed: see `run`."""

import argparse
import random
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from followers import All, Latest, PlainFollower, SdkFollower  # noqa: E402
from http_client import Client  # noqa: E402
from server import Server, verify  # noqa: E402
from writers import COLLECTION, DATABASE, Writer  # noqa: E402

PATH = f"/dbs/{DATABASE}/colls/{COLLECTION}"
WRITERS = 3
ALL_VERSIONS = "Full-Fidelity Feed"
RANGES_MAX = 5
SWEEP_PATIENCE_S = 120


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int)
    return parser.parse_args()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def create(client):
    assert client.post("/dbs", {"id": DATABASE}).status == 201
    key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
    policy = {"retentionDuration": 1440}
    body = {"id": COLLECTION, "partitionKey": key, "changeFeedPolicy": policy, "defaultTtl": -1}
    assert client.post(f"/dbs/{DATABASE}/colls", body).status == 201


def reshape(client, dice, done):
    """Splits or merges a range; some have nowhere to be cut."""
    ranges = [one["id"] for one in client.get(f"{PATH}/pkranges").json["PartitionKeyRanges"]]
    action = "split" if len(ranges) < RANGES_MAX and dice.random() < 0.6 else "merge"
    answer = client.post(f"/_sheaf{PATH}/pkranges/{dice.choice(ranges)}/{action}")
    assert answer.status in (200, 400, 404, 409), answer
    done[action] += answer.status == 200


def disturb(server, client, options, done):
    """Reshapes until the time is up, and kills the server now and then."""
    dice = random.Random(options.seed)
    seconds = options.minutes * 60
    kills = options.kills if options.kills is not None else max(2, int(options.minutes * 2))
    started = time.monotonic()
    due = [seconds * (n + 1) / (kills + 1) for n in range(kills)]
    while (now := time.monotonic() - started) < seconds:
        if due and now >= due[0]:
            due.pop(0)
            server.kill()
            server.start()
            client.close()
            done["kill"] += 1
        reshape(client, dice, done)
        time.sleep(dice.random())


def wait_for_sweep(writers, follower):
    """Until the feed has told the end of every document that expires."""
    mortals = set().union(*(writer.mortals for writer in writers))
    end = time.monotonic() + SWEEP_PATIENCE_S
    while not mortals <= follower.reader.expired and follower.is_alive():
        assert time.monotonic() < end, f"not swept: {sorted(mortals - follower.reader.expired)[:5]}"
        time.sleep(0.1)


def main():
    options = arguments()
    done = {"split": 0, "merge": 0, "kill": 0}
    with tempfile.TemporaryDirectory() as directory:
        data, port = Path(directory) / "data", free_port()
        with Server("--rate-limit", "never", data_dir=data, port=port, log=Path(directory) / "log") as server:
            client = Client(port)
            create(client)
            stop = threading.Event()
            writers = [Writer(number, port, stop) for number in range(WRITERS)]
            followers = [
                SdkFollower("latest versions, SDK", port, Latest(False), start_time="Beginning"),
                SdkFollower("all versions, SDK", port, All(False), mode="AllVersionsAndDeletes"),
                PlainFollower("latest versions", port, Latest(True)),
                PlainFollower("all versions", port, All(True), ALL_VERSIONS, "*"),
            ]
            for follower in followers[:2]:
                follower.begin()
            followers[3].look()
            for thread in [*writers, *followers]:
                thread.start()
            disturb(server, client, options, done)
            stop.set()
            for writer in writers:
                writer.join()
            wait_for_sweep(writers, followers[3])
            for follower in followers:
                follower.is_last.set()
            for follower in followers:
                follower.join()
            late = [
                PlainFollower("latest versions at once", port, Latest(True)),
                PlainFollower("all versions at once", port, All(True), ALL_VERSIONS, '"0"'),
            ]
            for follower in late:
                follower.is_last.set()
                follower.run()
            client.close()
            assert server.stop() == 0
        report(options, done, writers, [*followers, *late], verify(data))


def report(options, done, writers, followers, verified):
    histories, perhaps, mortals = {}, {}, 0
    for writer in writers:
        histories |= writer.history
        perhaps |= writer.perhaps
        mortals += len(writer.mortals)
    problems = [thread.failure for thread in [*writers, *followers] if thread.failure]
    for follower in followers:
        problems += [f"{follower.name}: {problem}" for problem in follower.reader.problems(histories, perhaps)]
    code, said = verified
    if code != 0:
        problems.append(said)
    writes, unknown = sum(it.writes for it in writers), sum(it.unknown for it in writers)
    print(f"{writes} writes ({unknown} without an answer), {mortals} expired, {done['split']} splits, {done['merge']} merges, {done['kill']} kills")
    for follower in followers:
        print(f"{follower.name}: {follower.pages} pages, {follower.errors} failures, {follower.reader.repeated} repeated")
    for problem in problems[:20]:
        print(f"PROBLEM {problem}")
    print(f"{len(problems)} problems (seed {options.seed})")
    if not done["split"] or not done["merge"] or not mortals or not followers[1].reader.changes:
        problems.append("nothing happened")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
