"""What the command line asks on a terminal."""

import os
import pty
import subprocess

import pytest

from server import binary


def on_a_terminal(server, arguments, typed):
    """Runs a command whose stdin and stderr are a terminal; gives its exit code and what it said there."""
    leader, follower = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SHEAF_")}
    environment["SHEAF_PORT"] = str(server.port)
    command = subprocess.Popen(
        [binary(), *arguments], stdin=follower, stderr=follower, stdout=subprocess.PIPE, env=environment
    )
    os.close(follower)
    said = b""
    while b"to continue: " not in said:
        said += os.read(leader, 4096)
    os.write(leader, typed)
    printed = command.stdout.read()
    code = command.wait(timeout=60)
    while True:
        try:
            more = os.read(leader, 4096)
        except OSError:  # Linux says so when nobody holds the other end any more.
            break
        if not more:
            break
        said += more
    os.close(leader)
    return code, said.decode(), printed.decode()


@pytest.fixture
def doomed(client):
    assert client.post("/dbs", {"id": "doomed"}).status == 201
    yield "doomed"
    client.delete("/dbs/doomed")


@pytest.mark.parametrize("typed", [b"\n", b"y\n", b"yes\n", b"Doomed\n", b"\x04"])
def test_another_answer_than_the_name_deletes_nothing(server, client, doomed, typed):
    code, said, printed = on_a_terminal(server, ["db", "delete", doomed], typed)
    assert (code, printed) == (1, "")
    assert "This deletes the database `doomed` with everything in it." in said
    assert "nothing was deleted" in said
    assert client.get("/dbs/doomed").status == 200


def test_the_name_deletes_a_database(server, client, doomed):
    code, _, printed = on_a_terminal(server, ["db", "delete", doomed], b"doomed\n")
    assert (code, printed) == (0, "the database `doomed` is deleted\n")
    assert client.get("/dbs/doomed").status == 404


def test_the_name_deletes_a_collection(server, client, doomed):
    body = {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}
    assert client.post("/dbs/doomed/colls", body).status == 201
    code, said, _ = on_a_terminal(server, ["coll", "delete", "c", "-d", doomed], b"c\n")
    assert code == 0
    assert "the collection `c`" in said
    assert client.get("/dbs/doomed/colls/c").status == 404
