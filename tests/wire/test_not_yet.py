"""What is not there yet is refused, and never taken for a document to create."""

import pytest

TRAP = {"query": "SELECT * FROM c", "parameters": [], "id": "trap", "pk": "a"}


def test_queries_of_what_is_not_there(client, db):
    answer = client.post(f"{db.path}/users", TRAP, {"x-ms-documentdb-isquery": "true"})
    assert answer.status == 400, answer
    assert "yet" in answer.message




def test_users(client, db):
    assert client.post(f"{db.path}/users", {"id": "u"}).status == 400
    assert client.get(f"{db.path}/users/u").status == 400
