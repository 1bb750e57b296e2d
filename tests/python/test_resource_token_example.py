"""The example of docs/resource-tokens.md: a broker with the key, and two phones without."""

import sys
import threading
import urllib.error

import pytest
from azure.cosmos import CosmosClient, exceptions
from server import PUBLISHED_KEY, REPOSITORY

sys.path.insert(0, str(REPOSITORY / "docs" / "examples" / "resource-tokens"))

from broker import Broker, serve  # noqa: E402
from phone import Notes  # noqa: E402


@pytest.fixture
def broker(server):
    broker = Broker(server.endpoint, PUBLISHED_KEY)
    page = serve(broker, {"first": "ann", "second": "bob"})
    thread = threading.Thread(target=page.serve_forever)
    thread.start()
    broker.url = f"http://127.0.0.1:{page.server_address[1]}/"
    yield broker
    page.shutdown()
    thread.join()
    page.server_close()
    CosmosClient(server.endpoint, PUBLISHED_KEY).delete_database("app")


def test_each_sees_its_own(server, broker):
    ann = Notes(server.endpoint, broker.url, "first")
    bob = Notes(server.endpoint, broker.url, "second")
    ann.write("shopping", "milk and bread")
    ann.write("diary", "bread was sold out")
    bob.write("shopping", "bread, too")
    assert ann.find("bread") == ["diary", "shopping"] and bob.find("bread") == ["shopping"]
    assert ann.read("shopping") == "milk and bread" and bob.read("shopping") == "bread, too"
    for name in ("diary", "nothing"):
        with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
            bob.read(name, owner="ann")
        assert caught.value.status_code == 403, "whether it is there or not"
    with pytest.raises(urllib.error.HTTPError):
        Notes(server.endpoint, broker.url, "guessed")


def test_tokens_are_renewed_and_revoked(server, broker):
    phone = Notes(server.endpoint, broker.url, "first")
    phone.write("a", "text")
    tablet = Notes(server.endpoint, broker.url, "first")
    assert phone.read("a") == "text", "the tablet's token did not end the phone's"
    old = phone.container
    broker.lock_out("ann")
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        old.read_item("a", "ann")
    assert caught.value.status_code == 401
    assert (phone.read("a"), tablet.read("a")) == ("text", "text"), "the broker lets ann in again"
    with pytest.raises(exceptions.CosmosHttpResponseError):
        old.read_item("a", "ann")
