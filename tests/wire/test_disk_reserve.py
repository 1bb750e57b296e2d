"""A disk that fills up and empties again under a running server."""

import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from http_client import Client, pk
from server import Server

MARGIN = 48 << 20   # what is free beyond the reserve in the beginning
FILLING = 96 << 20  # what somebody else puts on the disk
PATIENCE_S = 30     # the server looks once a second


@contextmanager
def scratch():
    """A directory, in memory if that is possible: few others write there meanwhile."""
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def free(path):
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def eventually(status, request):
    """Asks until the answer has this status."""
    deadline = time.monotonic() + PATIENCE_S
    while (answer := request()).status != status:
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)
    return answer


def test_writes_stop_before_the_disk_is_full_and_come_back():
    with scratch() as path:
        reserve = free(path) - MARGIN
        with Server("--disk-reserve", reserve, data_dir=path / "data") as running:
            client = Client(running.port)
            assert client.post("/dbs", {"id": "d"}).status == 201
            key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
            assert client.post("/dbs/d/colls", {"id": "c", "partitionKey": key}).status == 201
            docs = "/dbs/d/colls/c/docs"
            for id in ("1", "2"):
                assert client.post(docs, {"id": id, "pk": "k"}, pk("k")).status == 201

            filling = path / "filling"
            with open(filling, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, FILLING)
            upsert = {**pk("k"), "x-ms-documentdb-is-upsert": "True"}
            refused = eventually(403, lambda: client.post(docs, {"id": "1", "pk": "k"}, upsert))
            assert refused.json["code"] == "Forbidden"
            assert "disk is almost full" in refused.json["message"]
            assert client.post("/dbs", {"id": "other"}).status == 403
            assert client.get(f"{docs}/1", pk("k")).status == 200
            assert client.delete(f"{docs}/2", pk("k")).status == 204
            assert client.send("GET", "/_sheaf/health").status == 200

            filling.unlink()
            eventually(200, lambda: client.post(docs, {"id": "1", "pk": "k"}, upsert))
            assert client.post("/dbs", {"id": "other"}).status == 201
            client.close()
