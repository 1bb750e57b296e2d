"""A server behind something that ends TLS: SDKs go on at the endpoint that the account names."""

import socket
import ssl
import threading

import pytest
from azure.cosmos import CosmosClient, PartitionKey

from server import PUBLISHED_KEY, Server


class TlsProxy:
    """Takes TLS on a port of its own, and speaks plain HTTP/1.1 to the server."""

    def __init__(self, certificate, key):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.target, self.header = None, b""
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
                secure = self.context.wrap_socket(client, server_side=True)
                plain = socket.create_connection(("127.0.0.1", self.target))
            except ssl.SSLError:
                continue
            except OSError:
                return
            for pump in ((secure, plain, self.header), (plain, secure, b"")):
                threading.Thread(target=self.copy, args=pump, daemon=True).start()

    @staticmethod
    def copy(source, sink, header):
        """Sends everything on; behind the first line of each request comes the header."""
        try:
            while data := source.recv(65536):
                line, end, rest = data.partition(b"\r\n")
                sink.sendall(line + end + header + rest if line.endswith(b" HTTP/1.1") else data)
        except OSError:
            pass
        for stream in (source, sink):
            try:
                stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    data = tmp_path_factory.mktemp("proxy") / "data"
    with Server(data_dir=data):
        pass  # it makes a certificate
    with TlsProxy(data / "tls" / "cert.pem", data / "tls" / "key.pem") as running:
        yield running


@pytest.mark.parametrize("how", ["advertise", "trusted-proxies"])
def test_the_sdk_works_through_a_proxy_that_ends_tls(proxy, how):
    endpoint = f"https://localhost:{proxy.port}/"
    value = endpoint if how == "advertise" else "127.0.0.1"
    proxy.header = b"" if how == "advertise" else b"X-Forwarded-Proto: https\r\n"
    with Server("--tls", "off", f"--{how}", value) as running:
        proxy.target = running.port
        with CosmosClient(endpoint, PUBLISHED_KEY, connection_verify=False) as client:
            account = client.get_database_account()
            assert [place["databaseAccountEndpoint"] for place in account.WritableLocations] == [endpoint]
            container = client.create_database("shop").create_container("orders", PartitionKey("/pk"))
            container.create_item({"id": "1", "pk": "ada"})
            assert container.read_item("1", "ada")["id"] == "1"
