"""Followers of the change feed. Whatever fails, they go on from the last position they had."""

import threading
import time

from azure.cosmos import CosmosClient
from http_client import Client
from server import PUBLISHED_KEY
from writers import COLLECTION, DATABASE, DOCS, GONE

UNKNOWN = object()  # the state of a document before it was replaced


class Follower(threading.Thread):
    """Reads page after page until it is told that nothing more comes, and then to the end."""

    def __init__(self, name, port):
        super().__init__(name=name, daemon=True)
        self.port, self.position = port, None
        self.is_last, self.failure = threading.Event(), None
        self.pages, self.errors = 0, 0

    def run(self):
        try:
            while True:
                last = self.is_last.is_set()
                if self.look() == 0:
                    if last:
                        return
                    time.sleep(0.05)
        except AssertionError as error:
            self.failure = f"{self.name}: {error}"
        except Exception as error:  # told by whoever waits for the thread
            self.failure = f"{self.name}: {error!r}"

    def look(self):
        """The number of items that were read."""
        raise NotImplementedError


class Latest:
    """A copy of the collection. What was deleted stays in it: the feed does not tell."""

    def __init__(self, is_exact):
        self.is_exact, self.copy, self.lsns, self.repeated = is_exact, {}, {}, 0

    def take(self, item):
        place, key = (item["pk"], item["id"]), item["pk"]
        if item["n"] <= self.copy.get(place, 0):
            assert not self.is_exact, f"{place} came twice or in the wrong order"
            self.repeated += 1
            return
        self.copy[place] = item["n"]
        assert not self.is_exact or item["_lsn"] >= self.lsns.get(key, 0), f"{key} is out of order"
        self.lsns[key] = item["_lsn"]

    def problems(self, histories, perhaps):
        for place, states in histories.items():
            if states[-1] is not GONE and self.copy.get(place) != states[-1]:
                yield f"{place} is {self.copy.get(place)} in the copy, and {states[-1]} in truth"
        for place in self.copy.keys() - histories.keys():
            if place not in perhaps:
                yield f"{place} was never written"


class All:
    """Everything that was done to each document, by LSN."""

    def __init__(self, is_exact):
        self.is_exact, self.changes, self.repeated = is_exact, {}, 0
        self.expired = set()

    def take(self, change):
        kind, lsn = change["metadata"]["operationType"], change["metadata"]["lsn"]
        document = change["previous"] if kind == "delete" else change["current"]
        changes = self.changes.setdefault((document["pk"], document["id"]), {})
        assert ("previous" in change) == (kind == "delete"), change["metadata"]
        # Of what was replaced only the LSN is told.
        before = {"create": GONE, "delete": document["n"]}.get(kind, UNKNOWN)
        # A batch may delete a document and make another under its id.
        if (lsn, kind) in changes or changes and lsn < max(changes)[0]:
            assert not self.is_exact, f"{change['metadata']} came twice or in the wrong order"
            self.repeated += 1
        is_mortal = document["id"].startswith("t") and kind == "delete"
        assert change["metadata"].get("timeToLiveExpired", False) == is_mortal, change["metadata"]
        if is_mortal:
            self.expired.add((document["pk"], document["id"]))
        changes[lsn, kind] = (before, GONE if kind == "delete" else document["n"])

    def problems(self, histories, perhaps):
        for place in self.changes.keys() | histories.keys():
            found, done = self.changes.get(place, {}), histories.get(place)
            found = [found[at] for at in sorted(found)]
            if place in perhaps:
                # Made, and perhaps not swept yet.
                done = [perhaps[place], GONE][: len(found)]
            if [behind for _, behind in found] != done:
                yield f"{place}: the feed has {found}, done was {done}"
            elif any(before not in (UNKNOWN, done[at - 1] if at else GONE) for at, (before, _) in enumerate(found)):
                yield f"{place}: versions do not follow each other in {found}"


class SdkFollower(Follower):
    """Through azure-cosmos, by a new client now and then. Such a one finds its way through splits and
    merges itself, and may give some changes twice or out of order: see docs/sdks.md."""

    def __init__(self, name, port, reader, **how):
        super().__init__(name, port)
        self.reader, self.how, self.client = reader, how, None

    def begin(self):
        """Reads once, so that the position names every range."""
        self.look()
        assert self.position, f"{self.name} has no position"

    def look(self):
        count = 0
        try:
            if self.client is None:
                self.client = CosmosClient(f"http://127.0.0.1:{self.port}/", PUBLISHED_KEY)
            container = self.client.get_database_client(DATABASE).get_container_client(COLLECTION)
            how = dict(self.how)
            if self.position:
                how.pop("start_time", None)
                how["continuation"] = self.position
            for page in container.query_items_change_feed(max_item_count=20, **how).by_page():
                for item in page:
                    self.reader.take(item)
                    count += 1
                self.position = container.client_connection.last_response_headers["etag"]
                self.pages += 1
            self.position = container.client_connection.last_response_headers["etag"]
        except AssertionError:
            raise
        except Exception:
            # The server is gone for a while. What was taken has its position.
            self.errors += 1
            self.client = None
            time.sleep(0.2)
            return max(count, 1)
        return count


class PlainFollower(Follower):
    """The whole collection at once, as old clients read it: everything once, in order."""

    def __init__(self, name, port, reader, mode="Incremental Feed", position=None):
        super().__init__(name, port)
        self.reader, self.client, self.mode, self.position = reader, Client(port), mode, position

    def look(self):
        headers = {"A-IM": self.mode, "x-ms-max-item-count": "30", "If-None-Match": self.position}
        try:
            page = self.client.get(DOCS, headers)
        except OSError:
            self.client.close()
            self.errors += 1
            time.sleep(0.2)
            return 1
        if page.status == 503:
            return 1
        assert page.status in (200, 304), page
        self.position = page.etag
        if page.status == 304:
            return 0
        self.pages += 1
        items = page.json["Documents"]
        assert items, "an empty page in the middle"
        for item in items:
            self.reader.take(item)
        return len(items)
