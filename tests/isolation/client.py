"""A client on azure-cosmos, in a process of its own: `client.py transfer|raw|read ENDPOINT NAME SEED`;
`raw` makes transfers without the SDK.

It reports in lines of JSON on stdout, and stops when stdin ends. Whether what it saw is right, and
whether an error was to be expected, is for the harness to say.
"""

import json
import random
import sys
import threading
import time

from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.cosmos import CosmosClient, exceptions

from bank import ACCOUNTS, AMOUNT_MAX, COLLECTION, DATABASE, KEYS, TOTAL, wrong
from raw import Raw

# The published emulator key.
KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
THREADS = {"transfer": 2, "raw": 24, "read": 2}
AFTER_ERROR_S = 0.2
BETWEEN_READS_S = 0.1
WHERE = "FROM c WHERE c.kind = 'account'"

stopping = threading.Event()
output = threading.Lock()


def say(kind, **members):
    with output:
        print(json.dumps({"kind": kind, **members}), flush=True)


class Refused(Exception):
    """The server answered that it did not do it: status, substatus and message."""


class Stale(Exception):
    """Somebody else was faster: read again."""


class Transfers:
    """A loop of transfers, one after the other."""

    def __init__(self, container, name, seed):
        self.container, self.name, self.rng, self.number = container, name, random.Random(f"{seed}-{name}"), 0

    def step(self):
        """One transfer, sent again under its id until there is an answer."""
        self.number += 1
        way = self.rng.choice(["procedure", "procedure", "replace", "patch"])
        pk, amount = self.rng.choice(KEYS), self.rng.randint(1, AMOUNT_MAX)
        payer, payee = self.rng.sample(ACCOUNTS, 2)
        id, started, unanswered, stale = f"{self.name}-{self.number}", time.time(), 0, 0
        while True:
            outcome, text = self.once(way, id, pk, payer, payee, amount)
            if outcome not in ("unknown", "stale") or stopping.is_set():
                break
            if outcome == "stale":
                stale += 1
            else:
                unanswered += 1
                time.sleep(AFTER_ERROR_S)
        say("transfer", id=id, way=way, outcome=outcome, text=text, unanswered=unanswered, stale=stale,
            started=started, ended=time.time())

    def once(self, way, id, *transfer):
        try:
            getattr(self, way)(id, *transfer)
            return "done", ""
        except (ServiceRequestError, ServiceResponseError) as error:
            return "unknown", repr(error)[:300]
        except Stale:
            return "stale", ""
        except Refused as error:
            status, substatus, message = error.args
        except exceptions.CosmosHttpResponseError as error:
            status, substatus, message = error.status_code, error.sub_status, str(error)
        if 409 in (status, substatus):
            return "exists", ""
        if (way == "patch" and status == 412) or "declined" in message:
            return "declined", ""
        return "refused", f"{status}/{substatus}: {message}"[:400]

    def procedure(self, id, pk, payer, payee, amount):
        self.container.scripts.execute_stored_procedure("transfer", partition_key=pk, params=[id, payer, payee, amount])

    def replace(self, id, pk, payer, payee, amount):
        """Reads both, and replaces both if they are still the same."""
        found = self.batch([("read", (payer,)), ("read", (payee,))], pk)
        documents = [result["resourceBody"] for result in found]
        if documents[0]["balance"] < amount:
            raise Refused(400, 0, "declined")
        operations = []
        for document, by in zip(documents, (-amount, amount)):
            changed = document | {"balance": document["balance"] + by, "moves": document["moves"] + 1}
            operations.append(("replace", (document["id"], changed), {"if_match_etag": document["_etag"]}))
        self.batch([*operations, self.journal(id, pk, payer, payee, amount, "replace")], pk)

    def patch(self, id, pk, payer, payee, amount):
        """Gives first, and takes it if there is enough."""
        def add(by):
            return [{"op": "incr", "path": "/balance", "value": by}, {"op": "incr", "path": "/moves", "value": 1}]

        enough = {"filter_predicate": f"FROM c WHERE c.balance >= {amount}"}
        self.batch([self.journal(id, pk, payer, payee, amount, "patch"), ("patch", (payee, add(amount))),
                    ("patch", (payer, add(-amount)), enough)], pk)

    def journal(self, id, pk, payer, payee, amount, way):
        entry = {"id": id, "pk": pk, "kind": "journal", "from": payer, "to": payee, "amount": amount, "way": way}
        return "create", (entry,)

    def batch(self, operations, pk):
        try:
            return self.container.execute_item_batch(operations, partition_key=pk)
        except exceptions.CosmosBatchOperationError as error:
            kind = operations[error.error_index][0]
            if kind == "replace" and error.status_code == 412:
                raise Stale from error
            raise Refused(error.status_code, 0, f"operation {error.error_index}: {error}") from error


class Reads:
    """A loop that adds up the accounts of a key, by every way there is."""

    def __init__(self, container, name, seed):
        self.container, self.rng = container, random.Random(f"{seed}-{name}")

    def step(self):
        way, pk, started = self.rng.choice(["query", "sum", "batch", "procedure"]), self.rng.choice(KEYS), time.time()
        try:
            problem = getattr(self, way)(pk)
        except (ServiceRequestError, ServiceResponseError) as error:
            say("error", connection=True, started=started, ended=time.time(), text=repr(error)[:300])
            time.sleep(AFTER_ERROR_S)
            return
        except exceptions.CosmosHttpResponseError as error:
            text = f"{way}: {error.status_code}/{error.sub_status}: {error}"[:400]
            say("error", connection=False, status=error.status_code, started=started, ended=time.time(), text=text)
            time.sleep(AFTER_ERROR_S)
            return
        say("read", way=way, problem=problem and f"{pk}: {problem}")
        time.sleep(self.rng.uniform(0, BETWEEN_READS_S))

    def query(self, pk):
        query = f"SELECT c.id, c.balance, c.moves {WHERE}"
        return wrong(list(self.container.query_items(query, partition_key=pk)))

    def sum(self, pk):
        found = list(self.container.query_items(f"SELECT VALUE SUM(c.balance) {WHERE}", partition_key=pk))
        return None if found == [TOTAL] else f"sum {found}"

    def batch(self, pk):
        found = self.container.execute_item_batch([("read", (id,)) for id in ACCOUNTS], partition_key=pk)
        return wrong([result["resourceBody"] for result in found])

    def procedure(self, pk):
        return wrong(self.container.scripts.execute_stored_procedure("total", partition_key=pk, params=[]))


def main():
    role, endpoint, name, seed = sys.argv[1:]
    if role == "raw":
        container = Raw(endpoint)
    else:
        client = CosmosClient(endpoint, KEY)
        container = client.get_database_client(DATABASE).get_container_client(COLLECTION)
    kind = Reads if role == "read" else Transfers
    loops = [kind(container, f"{name}{number}", seed) for number in range(THREADS[role])]

    def run(loop):
        while not stopping.is_set():
            loop.step()

    threads = [threading.Thread(target=run, args=(loop,)) for loop in loops]
    say("ready")
    for thread in threads:
        thread.start()
    sys.stdin.read()
    stopping.set()
    for thread in threads:
        thread.join()
    say("end")


if __name__ == "__main__":
    main()
