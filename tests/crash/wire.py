"""A small client of the REST API: signing, one keep-alive connection, nothing retried."""

import base64
import hashlib
import hmac
import http.client
import json
import re
import socket
import time
from collections import namedtuple
from email.utils import formatdate
from urllib.parse import quote

# The key that Microsoft publishes for its emulator; a local server listens with it by default.
KEY = base64.b64decode(
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
)
VERSION = "2020-07-15"
TIMEOUT_S = 20

# What a connection raises when the server dies under it.
DISCONNECTED = (OSError, http.client.HTTPException)

Response = namedtuple("Response", "status headers body")


def authorization(verb, resource_type, link, date):
    """The value of the `authorization` header for a master key."""
    text = f"{verb.lower()}\n{resource_type}\n{link}\n{date.lower()}\n\n"
    signature = base64.b64encode(hmac.digest(KEY, text.encode(), hashlib.sha256)).decode()
    return quote(f"type=master&ver=1.0&sig={signature}", safe="")


def parse_session_token(token):
    """Range id and LSN, from `0:-1#7` or, as older callers get it, `0:7`."""
    match = re.fullmatch(r"([^:,]+):(?:-?\d+#)?(\d+)", token)
    return (match[1], int(match[2])) if match else None


class Client:
    """One connection. Not for use by several threads."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)

    def request(self, verb, resource_type, link, path, body=None, headers=None):
        """Sends one signed request. `link` is what is signed, `path` what is asked for."""
        date = formatdate(usegmt=True)
        sent = {
            "x-ms-version": VERSION,
            "x-ms-date": date,
            "authorization": authorization(verb, resource_type, link, date),
            **(headers or {}),
        }
        if body is not None:
            body = json.dumps(body)
            sent["content-type"] = "application/json"
        self._connection.request(verb, path, body, sent)
        response = self._connection.getresponse()
        received = response.read()
        received_headers = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, received_headers, received)

    def get_plain(self, path):
        """An unsigned GET, for the server's own endpoints."""
        self._connection.request("GET", path)
        response = self._connection.getresponse()
        return Response(response.status, {}, response.read())

    def close(self):
        self._connection.close()


def feed(client, link, kind, key, headers):
    """All resources of a kind, page after page; `key` names their list in the answer."""
    continuation = {}
    while True:
        response = client.request("GET", kind, link, f"/{link}/{kind}",
                                  headers={"x-ms-max-item-count": "1000", **headers, **continuation})
        if response.status != 200:
            raise RuntimeError(f"feed of {link}: {response.status} {response.body[:300]}")
        yield from json.loads(response.body)[key]
        if "x-ms-continuation" not in response.headers:
            return
        continuation = {"x-ms-continuation": response.headers["x-ms-continuation"]}
