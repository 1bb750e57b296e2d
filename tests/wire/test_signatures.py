"""Who may do what: signatures by master keys, their dates, and read-only keys."""

import base64
import re
import time
import urllib.parse
from email.utils import formatdate

import pytest

from http_client import Client, signature, token
from server import PUBLISHED_KEY, Server

# Published vectors for the emulator's key and this date.
DATE = "Tue, 01 Jan 2030 00:00:00 GMT"
VECTORS = [
    ("GET", "", "", "pTYhS4ox9QI3Bc8GVhbE/l3B/UQLk86E2gdybMBk1rU="),
    ("GET", "dbs", "", "1cCm4N43xTlahC4HaAse8g2E+n267PXGLAMRmEfg1GU="),
    ("POST", "dbs", "", "LNm/VsKZuCjcmT+6DGINeQ4at7RHRVzrcMT3AjDqKpQ="),
    ("GET", "dbs", "dbs/db1", "5Z0ngMCC8TCTECmc9BtnlAfGlmGGTieZ7Dn3BptAT2g="),
    ("POST", "colls", "dbs/db1", "rqWm5j3kNFvIYrrGQzKYoeRBm14h3z408pwOK6w348w="),
    ("POST", "docs", "dbs/db1/colls/c1", "HDqg1N6vRfo9Irgv3a6/6oKb3AR7JPeeFrrmewqH7uU="),
    ("GET", "docs", "dbs/db1/colls/c1/docs/Item 1", "1pLMf6K8NuzxYQhDvwa3R/KKRfQb+IwE4B/48Zc4R4A="),
    ("GET", "pkranges", "dbs/db1/colls/c1", "cAeK7iQQ+PYzd+TxpoUUXGGDT1GGQAslGP8NjRtvf+M="),
    ("GET", "pkranges", "aaaaaaaaaae=", "xhGgRiWr4kWh186wEXrHHdLv0eb4YVjNyGIGucqZN0c="),
    ("POST", "offers", "", "V3jfy2IOn4F18OFkSo79oiBwjl8iH7vIj7hi4rbiInI="),
    ("PUT", "offers", "abcd", "N3J6OCwnH74t35/Hy/Cr1W/RMDkxVZtFhvRP8pi2xMw="),
]
PATHS = ["/", "/dbs", "/dbs", "/dbs/db1", "/dbs/db1/colls", "/dbs/db1/colls/c1/docs",
         "/dbs/db1/colls/c1/docs/Item%201", "/dbs/db1/colls/c1/pkranges",
         "/dbs/AAAAAA==/colls/AAAAAAAAAAE=/pkranges", "/offers", "/offers/ABCD"]  # fmt: skip


@pytest.mark.parametrize("verb, kind, link, sig", VECTORS)
def test_published_vectors_of_the_helper(verb, kind, link, sig):
    assert signature(PUBLISHED_KEY, verb, kind, link, DATE) == sig


@pytest.mark.parametrize("vector, path", list(zip(VECTORS, PATHS, strict=True)), ids=PATHS)
def test_published_vectors_are_right_but_from_the_future(client, vector, path):
    """A right signature with a date out of the window is 403; a wrong one would be 401."""
    verb, _, _, sig = vector
    answer = client.send(verb, path, headers={"x-ms-date": DATE, "authorization": token(sig)})
    assert answer.check(verb).status == 403, answer
    wrong = "A" + sig[1:] if sig[0] != "A" else "B" + sig[1:]
    answer = client.send(verb, path, headers={"x-ms-date": DATE, "authorization": token(wrong)})
    assert answer.check(verb).status == 401, answer


def sign(verb, path, kind, link, date=None, key=PUBLISHED_KEY):
    date = date or formatdate(usegmt=True)
    return {"x-ms-date": date, "authorization": token(signature(key, verb, kind, link, date))}


def sig_now(date, kind="dbs", link=""):
    return signature(PUBLISHED_KEY, "GET", kind, link, date)


@pytest.mark.parametrize(
    "write",
    [
        lambda text: urllib.parse.quote(text, safe=""),
        lambda text: re.sub("%..", lambda escape: escape[0].lower(), urllib.parse.quote(text, "")),
        lambda text: text,
        lambda text: text.replace("=", "%3d").replace("&", "%26"),
    ],
    ids=["upper-case escapes", "lower-case escapes", "plain", "in part"],
)  # fmt: skip
def test_forms_of_the_authorization_header(client, write):
    # Many dates, so that the signatures hold `+` and `/` too.
    for seconds in range(-60, 61, 5):
        date = formatdate(time.time() + seconds, usegmt=True)
        text = f"type=master&ver=1.0&sig={sig_now(date)}"
        answer = client.send("GET", "/dbs", headers={"x-ms-date": date, "authorization": write(text)})
        assert answer.check("GET").status == 200, (text, answer)


def test_the_link_is_signed_in_its_own_case(client, db):
    upper = {"id": "Case-DB"}
    assert client.post("/dbs", upper).status == 201
    headers = sign("GET", "/dbs/Case-DB", "dbs", "dbs/Case-DB")
    assert client.send("GET", "/dbs/Case-DB", headers=headers).check("GET").status == 200
    headers = sign("GET", "/dbs/Case-DB", "dbs", "dbs/case-db")
    assert client.send("GET", "/dbs/Case-DB", headers=headers).check("GET").status == 401
    # The verb and the date are signed in lower case, whatever was sent.
    date = formatdate(usegmt=True)
    headers = {"authorization": token(sig_now(date)), "X-MS-DATE": date.upper()}
    assert client.send("GET", "/dbs", headers=headers).check("GET").status == 200


def test_the_date_header_instead_of_x_ms_date(client):
    date = formatdate(usegmt=True)
    sig = signature(PUBLISHED_KEY, "GET", "dbs", "", "", date)
    answer = client.send("GET", "/dbs", headers={"Date": date, "authorization": token(sig)})
    assert answer.check("GET").status == 200


@pytest.mark.parametrize("signed", [True, False])
def test_both_dates(client, signed):
    """The service leaves the date out of the text when x-ms-date is there; some clients do not."""
    date = formatdate(usegmt=True)
    sig = signature(PUBLISHED_KEY, "GET", "dbs", "", date, date if signed else "")
    headers = {"Date": date, "x-ms-date": date, "authorization": token(sig)}
    assert client.send("GET", "/dbs", headers=headers).check("GET").status == 200


def test_no_date(client):
    sig = signature(PUBLISHED_KEY, "GET", "dbs", "", "", "")
    assert client.send("GET", "/dbs", headers={"authorization": token(sig)}).check("GET").status == 401


@pytest.mark.parametrize("minutes, status", [(-14, 200), (14, 200), (-16, 403), (16, 403)])
def test_a_quarter_of_an_hour_of_skew(client, minutes, status):
    date = formatdate(time.time() + 60 * minutes, usegmt=True)
    headers = {"x-ms-date": date, "authorization": token(sig_now(date))}
    answer = client.send("GET", "/dbs", headers=headers).check("GET")
    assert answer.status == status, answer
    if status == 403:
        assert "not valid at the current time" in answer.message


@pytest.mark.parametrize("date", ["yesterday", "0", "2030-01-01T00:00:00Z", "Tue, 99 Foo 2030"])
def test_a_date_that_is_none(client, date):
    headers = {"x-ms-date": date, "authorization": token(sig_now(date))}
    assert client.send("GET", "/dbs", headers=headers).check("GET").status == 401


@pytest.mark.parametrize(
    "authorization",
    [
        None, "", "x", "type", "type=master", "type=master&ver=1.0", "type=master&ver=1.0&sig=",
        "type=master&ver=1.0&sig=!!!not base64!!!", "type=master&ver=9.9&sig=AAAA",
        "type=aad&ver=1.0&sig=eyJ0eXAiOiJKV1QifQ.e30.AAAA", "type=resource&ver=1&sig=AAAA;AAAA;",
        "type=sas&ver=1.0&sig=AAAA;AAAA", "type%3Dmaster%26ver%3D1.0%26sig%3DAAAA", "%", "%zz%3",
        "Bearer AAAA", "Basic dTpw", "type=master&ver=1.0&sig=" + "A" * 20000,
    ],
)  # fmt: skip
def test_authorizations_that_are_none(client, authorization):
    headers = {"x-ms-date": formatdate(usegmt=True)}
    if authorization is not None:
        headers["authorization"] = authorization
    answer = client.send("GET", "/dbs", headers=headers).check("GET")
    assert answer.status == 401, answer
    # The connection goes on.
    assert client.get("/dbs").status == 200


def test_authorization_that_is_not_ascii(client):
    headers = {"x-ms-date": formatdate(usegmt=True), "authorization": b"type=master\xff&ver=\xe9"}
    assert client.send("GET", "/dbs", headers=headers).check("GET").status == 401


def test_a_wrong_key(client, name):
    other = base64.b64encode(b"k" * 64).decode()
    answer = client.get("/dbs", key=other)
    assert answer.status == 401
    # It says what was signed, so that the writer of a client can compare.
    assert "get\\ndbs\\n" in answer.message or "get\ndbs\n" in answer.message
    assert client.post("/dbs", {"id": name}, key=other).status == 401
    assert client.get(f"/dbs/{name}").status == 404


@pytest.mark.parametrize(
    "verb, kind, link",
    [("POST", "dbs", ""), ("GET", "colls", ""), ("GET", "dbs", "dbs/wire"), ("GET", "", "")],
)
def test_a_signature_of_another_request(client, verb, kind, link):
    date = formatdate(usegmt=True)
    sig = signature(PUBLISHED_KEY, verb, kind, link, date)
    answer = client.send("GET", "/dbs", headers={"x-ms-date": date, "authorization": token(sig)})
    assert answer.check("GET").status == 401


def test_nothing_is_said_about_what_exists_without_a_key(client, coll):
    for path in ("/", "/dbs/wire", "/dbs/none", coll.path, f"{coll.path}/docs/x", "/offers/ABCD"):
        assert client.send("GET", path).check("GET").status == 401


# Keys of one's own.

KEYS = {
    name: base64.b64encode(bytes([number]) * 64).decode()
    for number, name in enumerate(
        ("primary", "secondary", "primary_readonly", "secondary_readonly"), start=1
    )
}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    file = tmp_path_factory.mktemp("keys") / "keys"
    file.write_text("".join(f'{name} = "{key}"\n' for name, key in KEYS.items()))
    file.chmod(0o600)
    with Server("--key-file", file) as server:
        client = Client(server.port, key=KEYS["primary"])
        assert client.post("/dbs", {"id": "d"}).status == 201
        definition = {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}
        assert client.post("/dbs/d/colls", definition).status == 201
        assert client.post("/dbs/d/colls/c/docs", {"id": "1", "pk": "a"}).status == 201
        yield client
        client.close()


@pytest.mark.parametrize("which", ["primary", "secondary"])
def test_both_keys_read_and_write(own, which):
    key = KEYS[which]
    assert own.get("/", key=key).status == 200
    assert own.post("/dbs/d/colls/c/docs", {"id": which, "pk": "a"}, key=key).status == 201
    at = {"x-ms-documentdb-partitionkey": '["a"]'}
    assert own.get(f"/dbs/d/colls/c/docs/{which}", at, key=key).status == 200
    assert own.delete(f"/dbs/d/colls/c/docs/{which}", at, key=key).status == 204


@pytest.mark.parametrize("which", ["primary_readonly", "secondary_readonly"])
def test_read_only_keys_read(own, which):
    key = KEYS[which]
    at = {"x-ms-documentdb-partitionkey": '["a"]'}
    reads = ["/", "/dbs", "/dbs/d", "/dbs/d/colls", "/dbs/d/colls/c", "/dbs/d/colls/c/docs",
             "/dbs/d/colls/c/pkranges", "/offers", "/dbs/d/colls/c/docs/1"]  # fmt: skip
    for path in reads:
        assert own.get(path, at, key=key).status == 200, path
        assert own.request("HEAD", path, headers=at, key=key).status == 200, path
    # A query is a read: whatever becomes of it, it is not forbidden.
    query = {"x-ms-documentdb-isquery": "True", "Content-Type": "application/query+json"}
    answer = own.post("/dbs/d/colls/c/docs", {"query": "SELECT * FROM c"}, query, key=key)
    assert answer.status not in (401, 403)


@pytest.mark.parametrize("which", ["primary_readonly", "secondary_readonly"])
@pytest.mark.parametrize(
    "verb, path",
    [
        ("POST", "/dbs"), ("DELETE", "/dbs/d"), ("POST", "/dbs/d/colls"), ("PUT", "/dbs/d/colls/c"),
        ("DELETE", "/dbs/d/colls/c"), ("POST", "/dbs/d/colls/c/docs"),
        ("PUT", "/dbs/d/colls/c/docs/1"), ("DELETE", "/dbs/d/colls/c/docs/1"),
        ("PATCH", "/dbs/d/colls/c/docs/1"), ("PUT", "/offers/ABCD"),
        ("POST", "/_sheaf/dbs/d/colls/c/partition"),
    ],
)  # fmt: skip
def test_read_only_keys_do_not_write(own, which, verb, path):
    at = {"x-ms-documentdb-partitionkey": '["a"]'}
    answer = own.request(verb, path, {"id": "1", "pk": "a"}, at, key=KEYS[which])
    assert answer.status == 403, answer
    assert own.get("/dbs/d/colls/c/docs/1", at).status == 200


def test_the_published_key_ends_with_a_key_file(own):
    assert own.get("/dbs", key=PUBLISHED_KEY).status == 401
