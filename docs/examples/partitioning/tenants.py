"""Tenants by key, by collection, and in tiers: who suffers when one of them is noisy.

    pip install azure-cosmos
    python tenants.py                       # against http://127.0.0.1:8081 with the published key
    SHEAF_ENDPOINT=... SHEAF_KEY=... python tenants.py --seconds 5

Six small tenants write a little, one writes as much as it can. They do the same in each of three layouts.
"""

import argparse
import json
import time

from azure.cosmos import PartitionKey
from figures import running, server, share, table

SMALL = [f"tenant-{number}" for number in range(6)]
NOISY = "noisy"
NOISY_THREADS = 8

# The collection and its throughput for each tenant.
LAYOUTS = {
    "by key": lambda tenant: ("all", 1200),
    "by collection": lambda tenant: (tenant, 400),
    "in tiers": lambda tenant: ("large", 800) if tenant == NOISY else ("small", 400),
}


def run(here, database, layout, place, seconds):
    containers, homes = {}, {}
    for tenant in [*SMALL, NOISY]:
        name, rate = place(tenant)
        if name not in containers:
            containers[name] = database.create_container(name, PartitionKey("/tenant"), offer_throughput=rate)
        homes[tenant] = containers[name]

    def small(tenant):
        def write(number):
            """Some 25 RU/s: a write of 6 RU, four times a second."""
            homes[tenant].create_item({"id": f"{number}", "tenant": tenant})
            return 0.25

        return write

    def noisy(thread):
        def write(number):
            """Some 87 RU, and no pause."""
            samples = list(range(200))
            homes[NOISY].create_item({"id": f"{thread}-{number}", "tenant": NOISY, "samples": samples})
            return 0

        return write

    loops = [*map(small, SMALL), *map(noisy, range(NOISY_THREADS))]
    with running(*loops), here.measured() as span:
        time.sleep(seconds)
    reserved = sum(it.get_throughput().offer_throughput for it in containers.values())
    return [(layout, reserved, *figures(span, *group)) for group in (("small", SMALL), ("noisy", [NOISY]))]


def figures(span, who, tenants):
    keys = [json.dumps([tenant], separators=(",", ":")) for tenant in tenants]
    served = [it for it in span.served() if it.key in keys]
    refused = [it for it in span.refused() if it.key in keys]
    waited = sum(it.wait_ms for it in refused) / max(1, len(served))
    rate = sum(it.charge for it in served) / span.seconds
    return who, rate, share(len(refused), len(served)), f"{waited:.0f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3, help="how long each layout is tried")
    seconds = parser.parse_args().seconds
    rows = []
    for layout, place in LAYOUTS.items():
        with server("tenants") as (here, database):
            rows += run(here, database, layout, place, seconds)
    titles = ["TENANTS", "RESERVED RU/S", "WHO", "RU/S SERVED", "THROTTLED", "WAIT OF A WRITE"]
    table("one noisy tenant among six small ones:", titles, rows)


if __name__ == "__main__":
    main()
