"""A collection for each month: much throughput for the current one, little for those that are only read.

    pip install azure-cosmos
    python collection_per_month.py          # against http://127.0.0.1:8081 with the published key
    SHEAF_ENDPOINT=... SHEAF_KEY=... python collection_per_month.py --seconds 5

Three months of readings by device. Then a month begins: its collection is made, the offer of the one before
is lowered, and the oldest is dropped as a whole.
"""

import argparse
import itertools
import time

from azure.cosmos import PartitionKey
from figures import running, server, share, table

CURRENT_RATE, OLD_RATE = 1500, 400
WRITERS = 3
DEVICES = 5
numbers = itertools.count(DEVICES)


def reading(number):
    """A document whose write costs some 46 RU."""
    return {"id": f"{number}", "device": f"device-{number % DEVICES}", "samples": list(range(100))}


def month(database, name, rate):
    container = database.create_container(name, PartitionKey("/device"), offer_throughput=rate)
    for number in range(DEVICES):
        container.create_item(reading(number))
    return container


def run(here, months, current, heading, seconds):
    """Writes to one month and reads all of them, and gives the RU/s that the offers reserve."""

    def write(_):
        """Some 400 RU/s by each writer."""
        current.create_item(reading(next(numbers)))
        return 0.1

    def reads(container):
        def read(number):
            container.read_item(f"{number % DEVICES}", f"device-{number % DEVICES}")
            return 0.05

        return read

    with running(*[write] * WRITERS, *map(reads, months)), here.measured() as span:
        time.sleep(seconds)
    rows, reserved = [], 0
    for container in months:
        name, offer = container.id, container.get_throughput().offer_throughput
        reserved += offer
        written, read = (span.rate(collection=name, method=method) for method in ("POST", "GET"))
        throttled = share(len(span.refused(collection=name)), len(span.served(collection=name)))
        rows.append((name, offer, written, read, throttled))
    titles = ["COLLECTION", "RESERVED RU/S", "WRITES RU/S", "READS RU/S", "THROTTLED"]
    table(heading, titles, rows)
    return reserved


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3, help="how long a month is")
    seconds = parser.parse_args().seconds
    with server("months") as (here, database):
        months = [month(database, f"2017-0{at}", OLD_RATE) for at in (1, 2)]
        months.append(month(database, "2017-03", CURRENT_RATE))
        rows = [("in March", run(here, months, months[-1], "March:", seconds))]

        months[-1].replace_throughput(OLD_RATE)
        months.append(month(database, "2017-04", CURRENT_RATE))
        oldest = months.pop(0)
        dropped = sum(it["documents"] for (name, _), it in here.partitions().items() if name == oldest.id)
        headers = {}
        database.delete_container(oldest, response_hook=lambda got, _: headers.update(got))
        charge = headers["x-ms-request-charge"]

        rows.append(("in April", run(here, months, months[-1], "April:", seconds)))
        run(here, months, months[-2], "April, and late writes to March:", seconds)
        most = CURRENT_RATE * len(months)
    rows.append(("had every month kept its rate", most))
    table("reserved by all offers:", ["WHEN", "RU/S"], rows)
    print(f"January was dropped with its {dropped} documents for {charge} RU.")


if __name__ == "__main__":
    main()
