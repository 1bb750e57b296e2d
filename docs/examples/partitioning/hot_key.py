"""A hot key against keys that are spread: the same writes, into the same throughput.

    pip install azure-cosmos
    python hot_key.py                       # against http://127.0.0.1:8081 with the published key
    SHEAF_ENDPOINT=... SHEAF_KEY=... python hot_key.py --seconds 5

The collection has 1,600 RU/s and four partitions, so each of them has 400. The service, and Sheaf, would
give it one: here it is split by hand, so that a laptop can overload a partition. About 1,000 RU/s are asked for.
"""

import argparse

from azure.cosmos import PartitionKey
from figures import paced, server, share, table

WRITES_EACH_SECOND = 22


def reading(number, key):
    """A document whose write costs some 46 RU: most of it is for a hundred indexed values."""
    return {"id": f"{number}", "device": key, "samples": list(range(100))}


def run(here, database, name, key_of, writes):
    container = database.create_container(name, PartitionKey("/device"), offer_throughput=1600)
    for half in here.split(container, 0):
        here.split(container, half)
    with here.measured() as span:
        paced(writes, WRITES_EACH_SECOND, lambda number: container.create_item(reading(number, key_of(number))))
    rows = []
    for (collection, range_id), it in sorted(span.partitions.items()):
        if collection == name:
            served, refused = it["admittedRequests"], it["throttledRequests"]
            hottest = [f"{key['partitionKey'][0]} {key['requestUnitsPerSecond']:.0f}" for key in it["hottestKeys"]]
            reserved = f"{it['reservedRequestUnitsPerSecond']:.0f}"
            rows.append((range_id, reserved, served, refused, share(refused, served), *(hottest or ["-"])[:1]))
    titles = ["PARTITION", "RESERVED RU/S", "SERVED", "429", "THROTTLED", "HOTTEST KEY (RU/S)"]
    table(f"{name}, by partition:", titles, rows)
    refused = len(span.refused())
    return name, writes, span.seconds, span.rate(), refused, share(refused, len(span.served()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3, help="how long to write")
    writes = max(1, round(parser.parse_args().seconds * WRITES_EACH_SECOND))
    with server("hot-key") as (here, database):
        rows = [
            run(here, database, "hot-key", lambda number: "device-0", writes),
            run(here, database, "spread-keys", lambda number: f"device-{number}", writes),
        ]
    titles = ["KEYS", "WRITES", "SECONDS", "RU/S SERVED", "429", "THROTTLED"]
    table("both, until the last write was served:", titles, rows)


if __name__ == "__main__":
    main()
