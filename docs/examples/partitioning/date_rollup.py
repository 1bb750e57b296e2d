"""The date as the key, for data that is written slowly and read by the day; against the host as the key.

    pip install azure-cosmos
    python date_rollup.py                   # against http://127.0.0.1:8081 with the published key
    SHEAF_ENDPOINT=... SHEAF_KEY=... python date_rollup.py

The same log, in a collection by date and in one by host. Each has 30,000 RU/s, so three partitions.
"""

from concurrent.futures import ThreadPoolExecutor

from azure.cosmos import PartitionKey
from figures import server, table

DAYS = [f"2017-03-{day}" for day in (12, 13, 14)]
HOSTS = [f"host-{number}" for number in range(12)]

QUERIES = [
    ("a morning", "day", DAYS[-1], "c.day = @key AND c.time >= '06:00' AND c.time < '12:00' ORDER BY c.time"),
    ("a host, all days", "host", HOSTS[0], "c.host = @key ORDER BY c.time"),
]


def lines(day):
    """The log of a day: each host writes every four hours."""
    for hour in range(0, 24, 4):
        for number, host in enumerate(HOSTS):
            yield {"id": f"{day}-{hour}-{host}", "day": day, "time": f"{hour:02}:{number:02}", "host": host}


def write(here, container):
    """Writes the log, and tells where the lines of the last day went."""
    with ThreadPoolExecutor(8) as pool:
        for day in DAYS:
            with here.measured() as span:
                list(pool.map(container.create_item, lines(day)))
    mine = (it for (collection, _), it in sorted(span.partitions.items()) if collection == container.id)
    return [container.id, *(it["admittedRequests"] for it in mine)]


def ask(here, container, key_path, query):
    what, path, key, condition = query
    scope = {"partition_key": key} if path == key_path else {"enable_cross_partition_query": True}
    with here.measured() as span:
        parameters = [{"name": "@key", "value": key}]
        rows = container.query_items(f"SELECT * FROM c WHERE {condition}", parameters=parameters, **scope)
        found = len(list(rows))
    return what, container.id, found, span.partitions_read(), span.charge()


def main():
    with server("date-rollup") as (here, database):
        written, asked = [], []
        for path in ("day", "host"):
            container = database.create_container(f"by-{path}", PartitionKey(f"/{path}"), offer_throughput=30000)
            written.append(write(here, container))
            asked += [ask(here, container, path, query) for query in QUERIES]
    partitions = len(written[0]) - 1
    table("writes of one day, by partition:", ["KEY", *(f"P{at}" for at in range(partitions))], written)
    table("queries:", ["WHAT", "KEY", "ROWS", "PARTITIONS READ", "RU"], sorted(asked))


if __name__ == "__main__":
    main()
