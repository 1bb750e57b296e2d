"""Many clients at once: exactly one wins what only one can have, and nothing gets lost."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from http_client import Client, pk

THREADS = 16
HASH = {"paths": ["/pk"], "kind": "Hash", "version": 2}


@pytest.fixture(scope="module")
def together(server):
    """Runs `work(client, number)` for each number, on as many connections at the same time."""
    clients = [Client(server.port) for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:

        def run(work):
            return list(pool.map(work, clients, range(THREADS)))

        yield run
    for client in clients:
        client.close()


ONE = [201] + [409] * (THREADS - 1)


def test_one_database(together, name):
    assert sorted(together(lambda client, _: client.post("/dbs", {"id": name}).status)) == ONE


def test_one_collection(together, client, db, name):
    body = {"id": name, "partitionKey": HASH}
    made = together(lambda client, _: client.post(f"{db.path}/colls", body).status)
    assert sorted(made) == ONE
    resource = client.get(f"{db.path}/colls/{name}").json["_self"]
    offers = [offer["resource"] for offer in client.get("/offers", {"x-ms-max-item-count": "1000"}).json["Offers"]]
    assert offers.count(resource) == 1


def test_one_document(together, coll, name):
    body = {"id": name, "pk": "a"}
    assert sorted(together(lambda client, _: client.post(coll.docs, body, pk("a")).status)) == ONE


def test_one_replacement(together, client, coll, name):
    made = client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    match = pk("a") | {"If-Match": made.etag}
    path = f"{coll.docs}/{name}"
    answers = together(lambda client, n: client.put(path, {"id": name, "pk": "a", "n": n}, match))
    assert sorted(answer.status for answer in answers) == [200] + [412] * (THREADS - 1)
    won = [number for number, answer in enumerate(answers) if answer.status == 200]
    assert [client.get(path, pk("a")).json["n"]] == won


def test_one_delete(together, client, coll, name):
    client.post(coll.docs, {"id": name, "pk": "a"}, pk("a"))
    gone = together(lambda client, _: client.delete(f"{coll.docs}/{name}", pk("a")).status)
    assert sorted(gone) == [204] + [404] * (THREADS - 1)


@pytest.mark.parametrize("throughput", ["400", "25000"])
@pytest.mark.parametrize("keys", [1, 5, 1000])
def test_nothing_gets_lost(together, client, db, throughput, keys):
    coll = db.collection(headers={"x-ms-offer-throughput": throughput})

    def write(client, thread):
        tokens = []
        for number in range(20):
            at = (thread * 20 + number) % keys
            made = client.post(coll.docs, {"id": f"{thread}-{number}", "pk": at}, pk(at))
            assert made.status == 201, made
            # What was acknowledged can be read at once.
            path = f"{coll.docs}/{thread}-{number}"
            assert client.get(path, pk(at) | {"x-ms-session-token": made.session}).json == made.json
            tokens.append(made.session)
        return tokens

    tokens = [token for part in together(write) for token in part]
    # Every transaction has a number of its own.
    assert len(tokens) == len(set(tokens)) == THREADS * 20
    found, token = [], None
    while True:
        page = client.get(coll.docs, {"x-ms-max-item-count": "1000", "x-ms-continuation": token})
        found += page.json["Documents"]
        if (token := page.continuation) is None:
            break
    assert len(found) == THREADS * 20
    assert len({document["_rid"] for document in found}) == THREADS * 20
    assert len({document["_etag"] for document in found}) == THREADS * 20
