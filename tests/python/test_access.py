"""Keys that change, keys that may only read, certificates that are checked, tokens in their place."""

import subprocess
import sys
import time

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ServiceRequestError
from azure.cosmos import CosmosClient, PartitionKey, SSLConfiguration, exceptions
from server import PUBLISHED_KEY, Server, binary

ITEM = {"id": "a", "pk": "p"}


def sheaf(*words):
    command = [str(binary()), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def keys(lines):
    return dict(line.replace('"', "").split(" = ") for line in lines.splitlines())


def status_of(call):
    with pytest.raises(exceptions.CosmosHttpResponseError) as refused:
        call()
    return refused.value.status_code, refused.value.sub_status


def test_keys_are_replaced_under_a_client(tmp_path):
    with Server(data_dir=tmp_path) as server:
        first = keys(sheaf("keys", "regenerate", "all", "--data-dir", tmp_path))
        # The server is told within a second; the client's own start is the first to need the key.
        deadline = time.monotonic() + 20
        while True:
            try:
                client = CosmosClient(server.endpoint, first["secondary"])
                break
            except exceptions.CosmosHttpResponseError:
                assert time.monotonic() < deadline
        items = client.create_database("d").create_container("c", PartitionKey("/pk"))
        items.create_item(ITEM)

        reader = CosmosClient(server.endpoint, first["primary_readonly"])
        same = reader.get_database_client("d").get_container_client("c")
        assert same.read_item("a", "p")["id"] == "a"
        assert [found["id"] for found in same.query_items("SELECT * FROM c", partition_key="p")] == ["a"]
        assert status_of(lambda: same.upsert_item(ITEM))[0] == 403
        assert status_of(lambda: same.delete_item("a", "p"))[0] == 403
        assert status_of(lambda: reader.create_database("e"))[0] == 403

        sheaf("keys", "regenerate", "primary", "--data-dir", tmp_path)
        assert items.read_item("a", "p")["id"] == "a"
        assert same.read_item("a", "p")["id"] == "a"


# The SDK does not check the certificate of localhost and 127.0.0.1, so that a test there shows nothing.
CHECKED = "127.0.0.2"


@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is a loopback address on Linux only")
def test_the_certificate_is_trusted_as_sheaf_cert_says(tmp_path):
    with Server("--host", CHECKED, data_dir=tmp_path) as server:
        exported = tmp_path / "exported.pem"
        sheaf("cert", "--data-dir", tmp_path, "--output", exported)
        endpoint = f"https://{CHECKED}:{server.port}/"
        with pytest.raises(ServiceRequestError, match="CERTIFICATE_VERIFY_FAILED"):
            CosmosClient(endpoint, PUBLISHED_KEY, retry_total=0)
        trust = SSLConfiguration()
        trust.SSLCaCerts = str(exported)
        with CosmosClient(endpoint, PUBLISHED_KEY, ssl_config=trust) as client:
            assert client.create_database("d").id == "d"


@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is a loopback address on Linux only")
def test_the_certificate_is_trusted_by_the_environment(tmp_path, monkeypatch):
    with Server("--host", CHECKED, data_dir=tmp_path) as server:
        endpoint = f"https://{CHECKED}:{server.port}/"
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "tls" / "cert.pem"))
        with CosmosClient(endpoint, PUBLISHED_KEY) as client:
            assert client.create_database("d").id == "d"


class Anybody:
    """A credential as `azure-identity` has them, with a token of its own making."""

    def get_token(self, *_scopes, **_options):
        return AccessToken("eyJhbGciOiJub25lIn0.e30.", int(time.time()) + 3600)


def test_a_token_in_the_place_of_a_key():
    with Server("--trust-any-token") as server:
        # The SDK sends no token over plain HTTP.
        endpoint = f"https://localhost:{server.port}/"
        with CosmosClient(endpoint, Anybody(), connection_verify=False) as client:
            items = client.create_database("d").create_container("c", PartitionKey("/pk"))
            items.create_item(ITEM)
            assert items.read_item("a", "p")["id"] == "a"
