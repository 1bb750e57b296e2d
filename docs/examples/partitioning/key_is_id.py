"""The id as the key: a store of values by key.

    pip install azure-cosmos
    python key_is_id.py                     # against http://127.0.0.1:8081 with the published key
    SHEAF_ENDPOINT=... SHEAF_KEY=... python key_is_id.py

Profiles of users by `/id`, in a collection with 30,000 RU/s, so three partitions.
"""

from concurrent.futures import ThreadPoolExecutor

from azure.cosmos import PartitionKey
from figures import server, table

USERS = [f"user-{number}" for number in range(150)]


def main():
    with server("key-is-id") as (here, database):
        profiles = database.create_container("profiles", PartitionKey("/id"), offer_throughput=30000)

        def write(name):
            profiles.create_item({"id": name, "email": f"{name}@example.com", "language": "en"})

        def by_email(name):
            query = "SELECT * FROM c WHERE c.email = @email"
            parameters = [{"name": "@email", "value": f"{name}@example.com"}]
            list(profiles.query_items(query, parameters=parameters, enable_cross_partition_query=True))

        rows = []
        with ThreadPoolExecutor(8) as pool:
            for what, names, call in (
                ("create", USERS, write),
                ("read by id", USERS, lambda name: profiles.read_item(name, partition_key=name)),
                ("query by email", USERS[:10], by_email),
            ):
                with here.measured() as span:
                    list(pool.map(call, names))
                visited = sum(it["admittedRequests"] for it in span.partitions.values())
                rows.append((what, len(names), visited / len(names), f"{span.charge() / len(names):.2f}"))
        spread = [(range_id, it["documents"]) for (_, range_id), it in sorted(here.partitions().items())]
    table("documents, by partition:", ["PARTITION", "DOCUMENTS"], spread)
    table("what it costs:", ["WHAT", "HOW MANY", "PARTITIONS VISITED", "RU EACH"], rows)


if __name__ == "__main__":
    main()
