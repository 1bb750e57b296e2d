"""What a request calls the server: one name, and for the published key one of its own."""

import json
import socket
from email.utils import formatdate

import pytest

from http_client import Client, signature, signed_parts, token
from server import PUBLISHED_KEY, Server


def raw(port, text):
    """Sends this on a connection of its own; the status, the head and the body of the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(text.encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode().lower(), body


def headers(verb, path, key=PUBLISHED_KEY):
    """The lines that sign a request, where that means something, and end the connection with it."""
    if path in ("/_sheaf/health", "/_sheaf/metrics", "/_explorer/emulator.pem"):
        return "connection: close\r\n"
    kind, link = ("backup", "") if path == "/_sheaf/backup" else signed_parts(path)
    date = formatdate(usegmt=True)
    sig = signature(key, verb, kind, link, date)
    return f"x-ms-date: {date}\r\nauthorization: {token(sig)}\r\nconnection: close\r\n"


def call(port, verb, path, host, body="", more="", key=PUBLISHED_KEY):
    lines = f"host: {host}\r\ncontent-length: {len(body)}\r\n{more}" + headers(verb, path, key)
    return raw(port, f"{verb} {path} HTTP/1.1\r\n{lines}\r\n{body}")


@pytest.mark.parametrize("path", ["/", "/dbs", "/_sheaf/health", "/_sheaf/metrics", "/_sheaf/backup",
                                  "/_explorer/emulator.pem"])  # fmt: skip
@pytest.mark.parametrize(
    "target, hosts, expected",
    [
        ("", ["localhost", "localhost"], "more than one Host"),
        ("", ["localhost", "evil.example"], "more than one Host"),
        ("", [], "Host header is missing"),
        ("", [""], "Host header is invalid"),
        ("", ["a,b"], "Host header is invalid"),
        ("", ["local host"], "Host header is invalid"),
        ("http://evil.example", ["localhost"], "not the same"),
        ("http://localhost", ["evil.example"], "not the same"),
        ("http://localhost:81", ["localhost:82"], "not the same"),
        ("http://me@localhost", ["localhost"], "is invalid"),
    ],
)
def test_a_request_has_one_name_for_the_server(server, path, target, hosts, expected):
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    request = f"GET {target}{path} HTTP/1.1\r\n{lines}{headers('GET', path)}\r\n"
    status, head, body = raw(server.port, request)
    assert status == 400, (head, body)
    problem = json.loads(body)
    assert problem["code"] == "BadRequest" and expected in problem["message"], problem
    assert "x-ms-activity-id: " in head and "x-ms-request-charge: 0" in head


@pytest.mark.parametrize(
    "target, host", [("http://localhost:8081", "LOCALHOST:8081"), ("http://localhost", "localhost:80")]
)
def test_the_same_name_twice_is_one(server, target, host):
    request = f"GET {target}/dbs HTTP/1.1\r\nHost: {host}\r\n{headers('GET', '/dbs')}\r\n"
    assert raw(server.port, request)[0] == 200


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    """A header field of HPACK, without indexing and without Huffman codes."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def http2_status(port, fields):
    """The status of a GET of these fields over HTTP/2 with prior knowledge."""
    block = b"".join(literal(name, value) for name, value in fields)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 5, 1, block))
        received = b""
        while True:
            while len(received) < 9 or len(received) < 9 + int.from_bytes(received[:3], "big"):
                part = connection.recv(65536)
                assert part, "the connection ended without an answer"
                received += part
            length, kind = int.from_bytes(received[:3], "big"), received[3]
            payload, received = received[9 : 9 + length], received[9 + length :]
            if kind == 1:
                return {0x88: 200, 0x8C: 400}[payload[0]]


def test_http2_has_one_name_too(server):
    fields = [(":method", "GET"), (":scheme", "http"), (":path", "/_sheaf/health")]
    assert http2_status(server.port, [*fields, (":authority", "localhost")]) == 200
    same = [*fields, (":authority", "localhost:80"), ("host", "localhost")]
    assert http2_status(server.port, same) == 200
    assert http2_status(server.port, [*fields, (":authority", "evil.example"), ("host", "localhost")]) == 400
    assert http2_status(server.port, [*fields, (":authority", "localhost"), ("host", "evil.example")]) == 400
    assert http2_status(server.port, [*fields, ("host", "localhost"), ("host", "localhost")]) == 400


OWN = ["localhost", "127.0.0.1:9", "[::1]:8081", "10.0.0.7", "sheaf:8081", "host.docker.internal"]


@pytest.mark.parametrize("verb, path, body", [("GET", "/dbs", ""), ("POST", "/dbs", "{}")])
def test_the_published_key_opens_nothing_under_the_name_of_a_page(server, verb, path, body):
    for host in ("evil.example", "evil.example:8081", "localhost.evil.example", "127.0.0.1.nip.io"):
        status, _, answer = call(server.port, verb, path, host, body)
        assert status == 403 and host in json.loads(answer)["message"], answer
    for host in OWN:
        assert call(server.port, verb, path, host, body)[0] == (400 if body else 200), host


def test_pages_cannot_split_partitions(server, coll):
    path = f"/_sheaf{coll.path}/pkranges"
    for verb, what in (("POST", f"{path}/0/split"), ("POST", f"{path}/0/merge")):
        assert call(server.port, verb, what, "evil.example")[0] == 403
    ranges = Client(server.port).get(f"{coll.path}/pkranges").json["PartitionKeyRanges"]
    assert len(ranges) == 1


def test_pages_cannot_make_backups(tmp_path):
    """A page of evil.example whose name stands for 127.0.0.1, and that knows the published key."""
    flags = ["--advertise", "https://db.example"]
    with Server(*flags, data_dir=tmp_path / "data") as running:
        asked = json.dumps({"directory": str(tmp_path / "stolen")})
        path = "/_sheaf/backup"
        for host in ("evil.example", "evil.example:8081", "db.example.evil.example", "10.0.0.7", "sheaf"):
            for verb, body in (("POST", asked), ("GET", "")):
                status, _, answer = call(running.port, verb, path, host, body)
                assert status == 403, (host, answer)
        assert not (tmp_path / "stolen").exists()
        # What a proxy sent on does not come from this machine, whatever the name.
        for host in ("localhost", "db.example"):
            assert call(running.port, "POST", path, host, asked, "x-forwarded-for: 192.0.2.1\r\n")[0] == 403
            assert call(running.port, "POST", path, host, asked, "x-forwarded-proto: https\r\n")[0] == 403
            assert call(running.port, "GET", path, host)[0] == 200
        assert call(running.port, "POST", path, "localhost", asked)[0] == 202


def test_own_keys_are_good_under_every_name(tmp_path):
    key = "YSBrZXkgb2Ygb3VyIG93biwgb2YgMzIgYnl0ZXMgb3Igc28="
    (tmp_path / "keys").write_text(key)
    with Server("--key-file", tmp_path / "keys", data_dir=tmp_path / "data") as running:
        for host in ("db.example", "localhost"):
            status, _, body = call(running.port, "GET", "/", host, key=key)
            assert status == 200 and f"http://{host}/" in body.decode()
        # But backups are for this machine, by whatever key.
        assert call(running.port, "GET", "/_sheaf/backup", "db.example", key=key)[0] == 403
        assert call(running.port, "GET", "/_sheaf/backup", "localhost", key=key)[0] == 200


def endpoints(body):
    account = json.loads(body)
    locations = account["writableLocations"] + account["readableLocations"]
    return {location["databaseAccountEndpoint"] for location in locations}


def test_the_account_names_the_advertised_endpoint():
    with Server("--advertise", "https://DB.example:8443") as running:
        for host in ("localhost", "db.example", "db.example:8443"):
            status, _, body = call(running.port, "GET", "/", host)
            assert status == 200 and endpoints(body) == {"https://db.example:8443/"}
        assert call(running.port, "GET", "/dbs", "evil.example")[0] == 403
        # It is not a name of this machine, though.
        text = "GET /_sheaf/metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n"
        assert raw(running.port, text.format("db.example"))[0] == 403
        assert raw(running.port, text.format("localhost"))[0] == 200


FORWARDED = [
    ("x-forwarded-proto: https\r\nx-forwarded-host: 10.9.8.7:8443\r\n", "https://10.9.8.7:8443/"),
    ("x-forwarded-proto: https\r\n", "https://localhost:8081/"),
    ("forwarded: for=192.0.2.1;proto=https;host=\"10.9.8.7:8443\"\r\n", "https://10.9.8.7:8443/"),
    ("forwarded: proto=http;host=made-up, for=192.0.2.1;proto=https\r\n", "https://localhost:8081/"),
    ("forwarded: proto=http;host=a\r\nforwarded: proto=https;host=b\r\n", "https://b/"),
]


@pytest.mark.parametrize("lines, expected", FORWARDED)
def test_proxies_are_believed_where_they_are_trusted(server, lines, expected):
    status, _, body = call(server.port, "GET", "/", "localhost:8081", more=lines)
    assert status == 200 and endpoints(body) == {"http://localhost:8081/"}
    with Server("--trusted-proxies", "2001:db8::/32,127.0.0.0/8") as running:
        status, _, body = call(running.port, "GET", "/", "localhost:8081", more=lines)
        assert status == 200 and endpoints(body) == {expected}
        # Whoever is behind a trusted proxy is still not on this machine.
        request = f"GET /_sheaf/metrics HTTP/1.1\r\nHost: localhost\r\n{lines}Connection: close\r\n\r\n"
        assert raw(running.port, request)[0] == 403


def test_a_trusted_proxy_opens_no_other_name():
    with Server("--trusted-proxies", "127.0.0.1") as running:
        for lines in ("x-forwarded-host: localhost\r\n", "forwarded: host=localhost\r\n"):
            assert call(running.port, "GET", "/dbs", "evil.example", more=lines)[0] == 403
        for lines in ("x-forwarded-host: evil.example\r\n", "forwarded: host=evil.example\r\n"):
            assert call(running.port, "GET", "/dbs", "localhost", more=lines)[0] == 403
        for lines in ("x-forwarded-proto: ftp\r\n", "x-forwarded-host: <b>\r\n", "forwarded: nonsense\r\n"):
            status, _, body = call(running.port, "GET", "/dbs", "localhost", more=lines)
            assert status == 400 and "header is invalid" in json.loads(body)["message"]
