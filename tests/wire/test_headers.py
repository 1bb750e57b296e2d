"""Request headers: those to ignore, those to check, those that are malformed."""

import contextlib
import socket
from email.utils import formatdate

import pytest

from http_client import Client, pk, signature, token


@pytest.fixture(scope="module")
def doc(client, coll):
    made = client.post(coll.docs, {"id": "doc", "pk": "a"}, pk("a"))
    assert made.status == 201
    return f"{coll.docs}/doc"


@pytest.mark.parametrize(
    "name, value",
    [
        ("x-ms-documentdb-query-enablecrosspartition", "true"),
        ("x-ms-documentdb-query-iscontinuationexpected", "False"),
        ("x-ms-cosmos-allow-tentative-writes", "true"),
        ("x-ms-cosmos-sdk-supportedcapabilities", "11"),
        ("x-ms-cosmos-supported-serialization-formats", "JsonText,CosmosBinary"),
        ("x-ms-noretry-449", "true"),
        ("x-ms-cosmos-priority-level", "Low"),
        ("x-ms-dedicatedgateway-max-age", "1000"),
        ("x-ms-documentdb-responsecontinuationtokenlimitinkb", "1"),
        ("x-ms-thinclient-proxy-operation-type", "2"),
        ("x-ms-documentdb-populatequerymetrics", "True"),
        ("x-ms-indexing-directive", "Default"),
        ("x-ms-client-id", "anything"),
        ("x-ms-cosmos-correlated-activityid", "anything"),
        ("x-ms-documentdb-collection-rid", "anything"),
        ("Cache-Control", "no-cache"),
        ("Accept", "application/json"),
        ("Accept-Encoding", "gzip, deflate"),
        ("x-never-heard-of", "it"),
    ],
)
def test_headers_to_ignore(client, coll, doc, name, value):
    headers = pk("a") | {name: value}
    assert client.get(doc, headers).status == 200
    assert client.get(coll.docs, {name: value}).status == 200
    body = {"id": "ignored", "pk": "a"}
    assert client.post(coll.docs, body, headers | {"x-ms-documentdb-is-upsert": "true"}).status < 300


@pytest.mark.parametrize("bucket, status", [("1", 200), ("5", 200), ("0", 400), ("6", 400), ("-1", 400),
                                            ("x", 400), ("1.5", 400), ("999999999999", 400)])  # fmt: skip
def test_throughput_buckets(client, doc, bucket, status):
    answer = client.get(doc, pk("a") | {"x-ms-cosmos-throughput-bucket": bucket})
    assert answer.status == status, answer
    if status == 400:
        assert "specified for the header 'x-ms-cosmos-throughput-bucket' is invalid." in answer.message


@pytest.mark.parametrize(
    "name, value",
    [
        ("x-ms-documentdb-is-upsert", "maybe"),
        ("x-ms-documentdb-is-upsert", "1"),
        ("x-ms-documentdb-isquery", "perhaps"),
        ("x-ms-cosmos-is-query-plan-request", "2"),
        ("x-ms-cosmos-is-batch-request", "nay"),
        ("x-ms-documentdb-partitionkey", "not json"),
        ("x-ms-documentdb-partitionkey", b"[\"\xff\"]"),
        ("x-ms-session-token", "nonsense"),
        ("x-ms-session-token", b"\xff\xfe"),
        ("x-ms-consistency-level", "Strongest"),
        ("x-ms-indexing-directive", "Maybe"),
        ("x-ms-version", "yesterday"),
        ("x-ms-version", "2015-01-01"),
        ("x-ms-documentdb-content-serialization-format", "Not a valid value"),
        ("x-ms-exclude-system-properties", "some"),
        ("x-ms-cosmos-throughput-bucket", "many"),
        ("x-ms-cosmos-intended-collection-rid", "not a rid"),
    ],
)
def test_malformed_headers(client, coll, name, value):
    before = client.get(coll.docs).json
    answer = client.post(coll.docs, {"id": "malformed", "pk": "a"}, {name: value})
    assert answer.status == 400, answer
    assert client.get(coll.docs).json == before


@pytest.mark.parametrize(
    "name, value",
    [
        ("x-ms-max-item-count", "lots"),
        ("x-ms-continuation", "not a token"),
        ("x-ms-documentdb-partitionkey", "["),
        ("x-ms-session-token", "0:zero"),
        ("x-ms-read-key-type", "Sideways"),
    ],
)
def test_malformed_headers_of_feeds(client, coll, name, value):
    assert client.get(coll.docs, {name: value}).status == 400


def test_a_version_is_not_needed(client, doc):
    assert client.get(doc, pk("a") | {"x-ms-version": None}).status == 200
    assert client.get("/", {"x-ms-version": None}).status == 200


def test_versions_that_are_served(client, doc):
    for version in "2014-08-21", "2018-06-18", "2019-10-14", "2020-11-05", "2024-06-06", "2199-01-01":
        assert client.get(doc, pk("a") | {"x-ms-version": version}).status == 200
    for version in "2014-08-20", "2015-01-01", "2023-11-15":
        for path in "/", doc:
            refused = client.get(path, pk("a") | {"x-ms-version": version})
            assert refused.status == 400
            assert "Invalid API version. Ensure a valid x-ms-version header value is passed." in refused.message


ONLY_BINARY = {"x-ms-cosmos-supported-serialization-formats": "CosmosBinary"}
BOTH = {"x-ms-cosmos-supported-serialization-formats": "JsonText,CosmosBinary"}
WANTS_BINARY = {"x-ms-documentdb-content-serialization-format": "CosmosBinary"}
WANTS_TEXT = {"x-ms-documentdb-content-serialization-format": "JsonText"}


def test_who_takes_only_binary_json_gets_it(client, coll, doc):
    """Documents and rows of queries for those who say what they take; feeds, too, for those who say what they want."""
    query = {"x-ms-documentdb-isquery": "true"} | pk("a")

    def first_bytes(headers):
        """The first byte of a read, a write, a query and a feed."""
        body = {"id": "binary", "pk": "a", "n": [1, -1, 2.5, "é" * 300, None, True, {}]}
        answers = (
            client.get(doc, pk("a") | headers),
            client.post(coll.docs, body, pk("a") | headers | {"x-ms-documentdb-is-upsert": "true"}),
            client.post(coll.docs, {"query": "SELECT * FROM c"}, query | headers),
            client.get(coll.docs, headers),
        )
        for answer in answers:
            assert answer.status < 300 and answer.headers["content-type"] == "application/json"
        return [answer.body[0] for answer in answers]

    text, binary = ord("{"), 0x80
    assert first_bytes({}) == first_bytes(BOTH) == first_bytes(WANTS_TEXT) == [text] * 4
    assert first_bytes(ONLY_BINARY) == [binary, binary, binary, text]
    assert first_bytes(WANTS_BINARY) == [binary] * 4
    assert first_bytes(ONLY_BINARY | WANTS_TEXT) == [text] * 4
    for unknown in "Invalid value", ", ,", "Json,Text":
        assert first_bytes({"x-ms-cosmos-supported-serialization-formats": unknown}) == [text] * 4
    # What comes back in binary may be sent back, and is the same.
    read = client.get(f"{coll.docs}/binary", pk("a"))
    again = client.get(f"{coll.docs}/binary", pk("a") | ONLY_BINARY).body
    put = client.put(f"{coll.docs}/binary", again, pk("a"))
    assert put.status == 200, put
    assert put.json | {"_etag": "", "_ts": 0} == read.json | {"_etag": "", "_ts": 0}
    # Errors and collections are always text.
    assert client.get(f"{coll.docs}/none", pk("a") | ONLY_BINARY).json["code"] == "NotFound"
    assert client.get(coll.path, ONLY_BINARY).json == coll.definition


def test_system_properties_may_be_left_out(client, coll, name):
    without = pk("a") | {"x-ms-exclude-system-properties": "true"}
    made = client.post(coll.docs, {"id": name, "pk": "a", "deep": {"_self": 1}}, without)
    assert made.status == 201
    assert list(made.json) == ["id", "pk", "deep", "_rid", "_etag", "_ts"] and made.json["deep"] == {"_self": 1}
    assert client.get(f"{coll.docs}/{name}", without).json == made.json
    assert made.json in client.get(coll.docs, without).json["Documents"]
    whole = client.get(f"{coll.docs}/{name}", pk("a")).json
    assert made.json.items() <= whole.items() and {"_self", "_attachments"} <= whole.keys()


def test_a_document_of_no_collection(client, db, coll):
    """Who reads a document is told that the database is missing, but not that the collection is."""
    for path, substatus in ((f"{db.path}/colls/none/docs/x", 0), ("/dbs/none/colls/none/docs/x", 1003)):
        answer = client.get(path, pk("a"))
        assert (answer.status, answer.substatus) == (404, substatus)
    assert client.post(f"{db.path}/colls/none/docs", {"id": "x", "pk": "a"}, pk("a")).substatus == 1003


def test_a_head_that_is_too_long(fresh, doc):
    # The server may hang up before all was sent, and then the answer can get lost.
    with contextlib.suppress(ConnectionError):
        assert fresh.send("GET", doc, headers={"x-long": "x" * 200_000}).status == 431
    fresh.close()
    assert fresh.get(doc, pk("a")).status == 200


def test_a_client_that_waits_for_leave_to_send(server, coll):
    """`Expect: 100-continue`: the body comes after the go-ahead."""
    signed = Client(server.port)
    body = b'{"id":"expected","pk":"a"}'
    date = formatdate(usegmt=True)
    sig = signature(signed.key, "POST", "docs", coll.path[1:], date)
    head = (
        f"POST {coll.docs} HTTP/1.1\r\nHost: a\r\nx-ms-date: {date}\r\nauthorization: {token(sig)}\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(head.encode())
        assert raw.recv(4096).startswith(b"HTTP/1.1 100 ")
        raw.sendall(body)
        assert raw.recv(4096).startswith(b"HTTP/1.1 201 ")
    assert signed.get(f"{coll.docs}/expected", pk("a")).status == 200
    signed.close()


def test_compressed_bodies_are_refused(client, coll):
    answer = client.post(coll.docs, b"\x1f\x8b\x08\x00", pk("a") | {"Content-Encoding": "gzip"})
    assert answer.status == 400, answer


def test_header_names_in_any_case(client, coll, doc):
    assert client.get(doc, {"X-MS-DocumentDB-PartitionKey": '["a"]'}).status == 200


@pytest.mark.parametrize("request_line", [
    b"GET\r\n\r\n", b"\r\n\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00\x01\x02\x03\r\n\r\n",
    b"GET / HTTP/1.1\r\nno colon here\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
])  # fmt: skip
def test_what_is_no_http(server, fresh, request_line):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        answer = b""
        # The server may have hung up before all was sent.
        with contextlib.suppress(OSError):
            raw.sendall(request_line)
            raw.shutdown(socket.SHUT_WR)
            while chunk := raw.recv(4096):
                answer += chunk
    assert answer == b"" or answer.split(b"\r\n")[0].split(b" ")[1] in (b"400", b"505")
    assert fresh.get("/").status == 200


def test_requests_in_one_go_are_answered_in_order(server, coll, doc):
    """A client may send the next request before the answer to the first."""
    request = b"GET /_sheaf/ready HTTP/1.1\r\nHost: a\r\n\r\n"
    last = b"GET /_sheaf/ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(request * 3 + last)
        answer = b""
        while chunk := raw.recv(4096):
            answer += chunk
    assert answer.count(b"HTTP/1.1 200") == 4
