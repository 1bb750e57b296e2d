"""A key of three levels: tenant, user, session. Queries by its beginning go where that beginning is.

    pip install azure-cosmos
    python hierarchical_keys.py             # against http://127.0.0.1:8081 with the published key
    SHEAF_ENDPOINT=... SHEAF_KEY=... python hierarchical_keys.py

The same events in a collection with the three-level key, and in one by session alone. Each has 30,000 RU/s,
so three partitions.
"""

from concurrent.futures import ThreadPoolExecutor

from azure.cosmos import PartitionKey
from figures import server, table

EVENTS = [
    {
        "id": f"{tenant}-{user}-{session}",
        "tenant": f"tenant-{tenant}",
        "user": f"user-{user}",
        "session": f"session-{tenant}-{user}-{session}",
    }
    for tenant in range(6)
    for user in range(4)
    for session in range(4)
]
LEVELS = ["tenant", "user", "session"]
ASKED = EVENTS[len(EVENTS) // 2]


def ask(here, container, levels, known):
    """Asks with these members of an event known. If they are the beginning of the key, they are the scope."""
    scope = {"enable_cross_partition_query": True}
    if levels[: len(known)] == known:
        scope = {"partition_key": [ASKED[name] for name in known]}
    condition = " AND ".join(f"c.{name} = @{name}" for name in known)
    parameters = [{"name": f"@{name}", "value": ASKED[name]} for name in known]
    with here.measured() as span:
        rows = container.query_items(f"SELECT * FROM c WHERE {condition}", parameters=parameters, **scope)
        found = len(list(rows))
    return " + ".join(known), container.id, found, span.partitions_read(), span.charge()


def main():
    with server("hierarchical") as (here, database):
        rows, spread = [], []
        for name, levels in (("three-levels", LEVELS), ("session-only", ["session"])):
            paths = [f"/{level}" for level in levels]
            key = PartitionKey(paths, kind="MultiHash") if len(paths) > 1 else PartitionKey(paths[0])
            container = database.create_container(name, key, offer_throughput=30000)
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(container.create_item, EVENTS))
            mine = (it for (collection, _), it in sorted(here.partitions().items()) if collection == name)
            spread.append([name, *(it["documents"] for it in mine)])
            for known in (["tenant"], ["tenant", "user"], LEVELS, ["user"]):
                rows.append(ask(here, container, levels, known))
    table("documents, by partition:", ["KEY", *(f"P{at}" for at in range(len(spread[0]) - 1))], spread)
    table("queries:", ["WHAT IS KNOWN", "KEY", "ROWS", "PARTITIONS READ", "RU"], rows)


if __name__ == "__main__":
    main()
