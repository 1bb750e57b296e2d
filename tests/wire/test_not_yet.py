"""What is not there yet is refused, and never taken for a document to create."""

import pytest

TRAP = {"query": "SELECT * FROM c", "parameters": [], "id": "trap", "pk": "a"}


@pytest.mark.parametrize("kind", ["sprocs", "triggers", "udfs", "conflicts"])
def test_queries_of_what_is_not_there(client, coll, kind):
    answer = client.post(f"{coll.path}/{kind}", TRAP, {"x-ms-documentdb-isquery": "true"})
    assert answer.status == 400, answer
    assert "yet" in answer.message


@pytest.mark.parametrize("kind", ["Incremental Feed", "Incremental feed", "Full-Fidelity Feed"])
def test_a_change_feed_is_not_a_feed(client, coll, kind):
    """Its readers go on until 304: an ordinary feed would never end."""
    assert client.get(coll.docs, {"A-IM": kind}).status == 400


@pytest.mark.parametrize("kind", ["sprocs", "triggers", "udfs"])
def test_scripts(client, coll, kind):
    body = {"id": "script", "body": "function () {}", "triggerType": "Pre", "triggerOperation": "All"}
    assert client.post(f"{coll.path}/{kind}", body).status == 400
    assert client.get(f"{coll.path}/{kind}/script").status == 400
    assert client.get(coll.docs).status == 200


def test_users(client, db):
    assert client.post(f"{db.path}/users", {"id": "u"}).status == 400
    assert client.get(f"{db.path}/users/u").status == 400
