"""What is not there yet is refused, and never taken for a document to create."""

from email.utils import formatdate

import pytest

from http_client import pk, signature, token

TRAP = {"query": "SELECT * FROM c", "parameters": [], "id": "trap", "pk": "a"}


def test_queries_of_what_is_not_there(client, db):
    answer = client.post(f"{db.path}/users", TRAP, {"x-ms-documentdb-isquery": "true"})
    assert answer.status == 400, answer
    assert "yet" in answer.message


@pytest.mark.parametrize("kind", ["Incremental Feed", "Incremental feed", "Full-Fidelity Feed"])
def test_a_change_feed_is_not_a_feed(client, coll, kind):
    """Its readers go on until 304: an ordinary feed would never end."""
    assert client.get(coll.docs, {"A-IM": kind}).status == 400


def test_users(client, db):
    assert client.post(f"{db.path}/users", {"id": "u"}).status == 400
    assert client.get(f"{db.path}/users/u").status == 400


def test_delete_by_partition_key(client, coll, name):
    assert client.post(coll.docs, {"id": name, "pk": "kept"}).status == 201
    path = f"{coll.path}/operations/partitionkeydelete"
    assert client.post(path, b"", pk("kept")).status == 400
    # Python signs the type `colls`, .NET and Java `partitionkey`.
    date = formatdate(usegmt=True)
    sig = signature(client.key, "POST", "partitionkey", coll.path[1:], date)
    headers = pk("kept") | {"x-ms-date": date, "authorization": token(sig)}
    assert client.post(path, b"", headers).status == 400
    assert client.get(f"{coll.docs}/{name}", pk("kept")).status == 200
