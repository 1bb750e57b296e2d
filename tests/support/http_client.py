"""A signing HTTP client for the REST API, on the standard library alone.

It checks what must hold for every answer, so that no test has to: an activity id, a charge, and
for errors the `{code, message}` body.
"""

import base64
import hashlib
import hmac
import http.client
import json
import re
import ssl
import urllib.parse
import uuid
from email.utils import formatdate

from server import PUBLISHED_KEY

VERSION = "2020-07-15"
CODES = {
    304: None, 400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound",
    405: "MethodNotAllowed", 408: "RequestTimeout", 409: "Conflict", 410: "Gone",
    412: "PreconditionFailed", 413: "RequestEntityTooLarge", 429: "TooManyRequests",
}  # fmt: skip


def signature(key, verb, resource_type, link, date, http_date=""):
    """The base64 signature of a request by a master key."""
    text = f"{verb.lower()}\n{resource_type.lower()}\n{link}\n{date.lower()}\n{http_date.lower()}\n"
    mac = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256)
    return base64.b64encode(mac.digest()).decode()


def token(sig):
    """The value of the authorization header that holds a signature, as SDKs write it."""
    return urllib.parse.quote(f"type=master&ver=1.0&sig={sig}", safe="")


def is_rid(segment):
    """Whether clients take the second segment of a path for a database's resource id."""
    try:
        return len(segment) == 8 and len(base64.b64decode(segment.replace("-", "/"))) == 4
    except ValueError:
        return False


def signed_parts(path):
    """The resource type and link that SDKs sign for a path."""
    path = path.partition("?")[0].strip("/")
    segments = [urllib.parse.unquote(part) for part in path.split("/")] if path else []
    if not segments:
        return "", ""
    if segments[0] == "_sheaf":  # what is done to a resource is signed as the resource itself
        segments = segments[1:-1]
    if segments[-2:] == ["operations", "partitionkeydelete"]:
        return "colls", "/".join(segments[:-2])
    if len(segments) % 2:
        kind, owner = segments[-1], segments[:-1]
    else:
        kind, owner = segments[-2], segments
    if not owner:
        return kind, ""
    if kind == "offers" or (owner[0] == "dbs" and is_rid(owner[1])):
        return kind, owner[-1].lower()
    return kind, "/".join(owner)


class Answer:
    """What the server said."""

    def __init__(self, response):
        self.status = response.status
        self.raw_headers = response.getheaders()
        self.headers = {name.lower(): value for name, value in self.raw_headers}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def substatus(self):
        return int(self.headers.get("x-ms-substatus", "0"))

    @property
    def charge(self):
        return float(self.headers["x-ms-request-charge"])

    @property
    def etag(self):
        return self.headers.get("etag")

    @property
    def session(self):
        return self.headers.get("x-ms-session-token")

    @property
    def continuation(self):
        return self.headers.get("x-ms-continuation")

    @property
    def message(self):
        return self.json["message"]

    def __repr__(self):
        return f"<{self.status}/{self.substatus} {self.body[:600]!r}>"

    def check(self, method):
        """What holds for every answer of the API."""
        uuid.UUID(self.headers["x-ms-activity-id"])
        assert self.charge >= 0, self
        if "x-ms-substatus" in self.headers:
            assert re.fullmatch(r"\d+", self.headers["x-ms-substatus"]), self
        if self.body:
            # Batches of .NET are answered in its own form, whose first byte no text has.
            kind = "octet-stream" if self.body[0] == 0x81 else "json"
            assert self.headers["content-type"].split(";")[0] == f"application/{kind}", self
        if self.status >= 400 and method != "HEAD":
            problem = self.json
            # A query that the client must merge itself is refused with the plan for it.
            plan = ["additionalErrorInfo"] if self.substatus == 1004 else []
            assert list(problem) == ["code", "message", *plan], self
            assert problem["code"] == CODES.get(self.status, problem["code"]), self
            assert problem["message"], self
        return self


class Client:
    """One keep-alive connection, opened again when the server closed it."""

    def __init__(self, port, key=PUBLISHED_KEY, tls=False, version=VERSION):
        self.port, self.key, self.tls, self.version = port, key, tls, version
        self.connection = None
        self.opened = 0

    def connect(self):
        if self.connection is None:
            if self.tls:
                context = ssl._create_unverified_context()
                self.connection = http.client.HTTPSConnection(
                    "127.0.0.1", self.port, timeout=60, context=context
                )
            else:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            self.connection.connect()
            self.opened += 1
        return self.connection

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def send(self, method, path, body=None, headers=(), host=None):
        """Sends exactly this, unsigned; headers are pairs or a dictionary, values text or bytes."""
        pairs = list(headers.items()) if isinstance(headers, dict) else list(headers)
        for last in (False, True):
            reused = self.connection is not None
            connection = self.connect()
            try:
                connection.putrequest(
                    method, path, skip_host=host is not None, skip_accept_encoding=True
                )
                if host is not None:
                    connection.putheader("Host", host)
                for name, value in pairs:
                    connection.putheader(name, value)
                if body is not None or method in ("POST", "PUT", "PATCH"):
                    connection.putheader("Content-Length", str(len(body or b"")))
                connection.endheaders(body)
                answer = Answer(connection.getresponse())
            except (http.client.RemoteDisconnected, ConnectionError):
                # The server may close an idle connection at any time.
                self.close()
                if last or not reused:
                    raise
                continue
            if answer.headers.get("connection", "").lower() == "close":
                self.close()
            return answer

    def request(self, method, path, body=None, headers=None, key=None, host=None):
        """Signs and sends a request as an SDK does. A body that is no text or bytes is written
        as JSON. A header that is None is left out, also one that is sent by default."""
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogatepass")
        date = formatdate(usegmt=True)
        kind, link = signed_parts(path)
        sig = signature(key or self.key, method, kind, link, date)
        sent = {"x-ms-date": date, "x-ms-version": self.version, "authorization": token(sig)}
        sent |= headers or {}
        sent = {name: value for name, value in sent.items() if value is not None}
        return self.send(method, path, body, sent, host).check(method)

    def get(self, path, headers=None, **more):
        return self.request("GET", path, None, headers, **more)

    def post(self, path, body=None, headers=None, **more):
        return self.request("POST", path, body, headers, **more)

    def put(self, path, body=None, headers=None, **more):
        return self.request("PUT", path, body, headers, **more)

    def delete(self, path, headers=None, **more):
        return self.request("DELETE", path, None, headers, **more)


def pk(*values):
    """The partition key header for these values."""
    return {"x-ms-documentdb-partitionkey": json.dumps(list(values))}


UNDEFINED = {}
UPSERT = {"x-ms-documentdb-is-upsert": "True"}
