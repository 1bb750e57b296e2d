"""What the scripts here share: a database to try things in, the server's figures, and tables.

Every figure comes from the server: from its page of partitions, from its offers, or from the status,
the charge and the wait in each of its answers. Only the seconds are measured here.
"""

import base64
import collections
import contextlib
import hashlib
import hmac
import itertools
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

from azure.cosmos import CosmosClient

ENDPOINT = os.environ.get("SHEAF_ENDPOINT", "http://127.0.0.1:8081").rstrip("/")
# The published key of the emulator: the only one that a server knows without a key file.
KEY = os.environ.get(
    "SHEAF_KEY",
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==",
)

# The SDK repeats what was refused with 429 after the wait that it is told; here as often as it takes.
PATIENCE = {"retry_throttle_total": 10_000, "retry_throttle_backoff_max": 600}

FIGURE = re.compile(r"[\d.,]+( %| ms)?")

Answer = collections.namedtuple("Answer", "method collection key status charge wait_ms")


class Server:
    """A database of its own in the server, all answers about documents in it, and its partitions."""

    def __init__(self, name):
        self.name = name
        self.answers = []
        self.client = CosmosClient(ENDPOINT, KEY, raw_response_hook=self._note, **PATIENCE)

    def _note(self, response):
        """Called with every answer, also with those that the SDK keeps to itself and repeats."""
        path = urllib.parse.urlsplit(response.http_request.url).path.strip("/").split("/")
        if path[:2] != ["dbs", self.name] or len(path) < 5 or path[4] != "docs":
            return
        given, got = response.http_request.headers, response.http_response.headers
        self.answers.append(
            Answer(
                response.http_request.method,
                path[3],
                given.get("x-ms-documentdb-partitionkey"),
                response.http_response.status_code,
                float(got.get("x-ms-request-charge", 0)),
                float(got.get("x-ms-retry-after-ms", 0)),
            )
        )

    def partitions(self):
        """What the server says of the partitions of this database, by collection and range."""
        with urllib.request.urlopen(f"{ENDPOINT}/_sheaf/partitions", timeout=10) as page:
            told = json.load(page)["partitions"]
        return {(it["collection"], it["range"]): it for it in told if it["database"] == self.name}

    def split(self, container, range_id):
        """Has a partition split in two, as the server does by itself when it is full."""
        link = f"dbs/{self.name}/colls/{container.id}/pkranges/{range_id}"
        date = formatdate(usegmt=True)
        text = f"post\npkranges\n{link}\n{date.lower()}\n\n".encode()
        signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), text, hashlib.sha256)).decode()
        token = urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe="")
        headers = {"authorization": token, "x-ms-date": date, "x-ms-version": "2018-12-31"}
        request = urllib.request.Request(f"{ENDPOINT}/_sheaf/{link}/split", b"", headers)
        with urllib.request.urlopen(request, timeout=60) as done:
            return [child["id"] for child in json.load(done)["children"]]

    @contextlib.contextmanager
    def measured(self):
        """What the server did between the beginning and the end of a block."""
        span = Span()
        before, seen, began = self.partitions(), len(self.answers), time.monotonic()
        yield span
        span.seconds = time.monotonic() - began
        span.answers = self.answers[seen:]
        span.partitions = self.partitions()
        for place, partition in span.partitions.items():
            for figure in ("admittedRequests", "throttledRequests"):
                partition[figure] -= before.get(place, {}).get(figure, 0)


class Span:
    """Answers and partitions of a stretch of time. The partitions count its requests only."""

    def served(self, **which):
        """Answers that did what was asked for: those with these members."""
        chosen = (it for it in self.answers if it.status < 400)
        return [it for it in chosen if all(getattr(it, name) == value for name, value in which.items())]

    def refused(self, **which):
        """Answers that told to wait."""
        chosen = (it for it in self.answers if it.status == 429)
        return [it for it in chosen if all(getattr(it, name) == value for name, value in which.items())]

    def rate(self, **which):
        """Request units for each second."""
        return sum(it.charge for it in self.served(**which)) / self.seconds

    def charge(self):
        return sum(it.charge for it in self.answers)

    def partitions_read(self):
        """How many partitions served anything."""
        return sum(it["admittedRequests"] > 0 for it in self.partitions.values())


@contextlib.contextmanager
def server(subject):
    """Connects, makes a database, and deletes it in the end."""
    server = Server(f"try-{subject}-{os.getpid()}")
    database = server.client.create_database(server.name)
    try:
        yield server, database
    finally:
        server.client.delete_database(database)


def paced(writes, for_each_second, write):
    """Begins so many writes in each second, and waits until the last one is done.

    A write that is throttled holds up one of 32 threads, so others still begin in time.
    """
    began = time.monotonic()

    def at_its_time(number):
        time.sleep(max(0, began + number / for_each_second - time.monotonic()))
        write(number)

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(at_its_time, range(writes)))


@contextlib.contextmanager
def running(*loops):
    """Calls each of these again and again, in a thread of its own, until the block ends.

    A call gets its number, and gives the pause after it.
    """
    stop = threading.Event()

    def again(loop):
        for number in itertools.count():
            if stop.wait(loop(number)):
                return

    with ThreadPoolExecutor(len(loops)) as pool:
        threads = [pool.submit(again, loop) for loop in loops]
        try:
            yield
        finally:
            stop.set()
    for thread in threads:
        thread.result()


def share(part, rest):
    """A part of the whole, as percents."""
    return f"{100 * part / max(1, part + rest):.0f} %"


def table(heading, titles, rows):
    """Prints a heading, and columns under their titles."""
    lines = [[f"{cell:,.1f}" if isinstance(cell, float) else f"{cell}" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(titles, *lines)]
    is_figure = [all(FIGURE.fullmatch(line[at]) for line in lines) for at in range(len(titles))]
    print(heading)
    for line in [titles, *lines]:
        cells = zip(line, widths, is_figure)
        aligned = (cell.rjust(width) if figure else cell.ljust(width) for cell, width, figure in cells)
        print("  ".join(aligned).rstrip())
    print()


def _check():
    """Says plainly what is wrong, before the SDK tries for a long time."""
    try:
        urllib.request.urlopen(f"{ENDPOINT}/_sheaf/partitions", timeout=10).close()
    except urllib.error.HTTPError as error:
        sys.exit(f"{ENDPOINT} answered {error.code}: is it a Sheaf, and are its `metrics` open to you?")
    except (OSError, ValueError) as error:
        sys.exit(f"no server at {ENDPOINT} ({error}): run `sheaf serve`, or set SHEAF_ENDPOINT")


_check()
