"""After a restart: is everything there that was acknowledged, and nothing that cannot be?"""

import json
import random
from concurrent.futures import ThreadPoolExecutor

from ledger import ABSENT, DATABASE
from wire import Client, feed, parse_session_token

READERS = 4
SAMPLE = 50  # documents not touched in this round that are read one by one; the feed covers the rest


def check_all(ledger, port, everything=False):
    """Point reads of what was touched and a sample, then every document through the feeds."""
    client = Client(port)
    settle_collections(ledger, client)
    for collection in ledger.collections.values():
        to_read = [document for document in collection.documents
                   if everything or document.touched or document.unknown]
        untouched = [document for document in collection.documents if not document.touched]
        to_read += random.sample(untouched, min(SAMPLE, len(untouched)))
        if collection.contended:
            to_read.append(collection.contended)
        read_points(ledger, port, collection, to_read)
        check_feed(ledger, client, collection)
    client.close()


def settle_collections(ledger, client):
    """Decides which of the collections in doubt exist, and looks for the others."""
    for name, collection in [*ledger.unknown_creation.items(), *ledger.unknown_deletion.items()]:
        status = collection_status(client, name)
        if status == 200:
            ledger.collections[name] = collection
        elif status != 404:
            ledger.problem(f"{name}: collection in doubt answers {status}")
    ledger.unknown_creation.clear()
    ledger.unknown_deletion.clear()
    for name in ledger.collections:
        status = collection_status(client, name)
        if status != 200:
            ledger.problem(f"{name}: acknowledged collection answers {status}")
    for name in list(ledger.deleted)[-5:]:
        status = collection_status(client, name)
        if status != 404:
            ledger.problem(f"{name}: deleted collection answers {status}")
    collections = feed(client, f"dbs/{DATABASE}", "colls", "DocumentCollections", {})
    listed = {collection["id"] for collection in collections}
    if listed != set(ledger.collections):
        ledger.problem(f"collections listed {sorted(listed)}, expected {sorted(ledger.collections)}")


def collection_status(client, name):
    link = f"dbs/{DATABASE}/colls/{name}"
    return client.request("GET", "colls", link, f"/{link}").status


def read_points(ledger, port, collection, documents):
    def read_some(part):
        client = Client(port)
        for document in part:
            read_point(ledger, client, collection, document)
        client.close()

    with ThreadPoolExecutor(READERS) as pool:
        # list() so that an exception in a reader is raised here.
        list(pool.map(read_some, (documents[number::READERS] for number in range(READERS))))


def read_point(ledger, client, collection, document):
    """The session token makes the server answer 404 with substatus 1002 if its LSN went back."""
    link = f"{collection.link}/docs/{document.id}"
    headers = collection.headers(document.pk)
    if collection.lsn:
        headers["x-ms-session-token"] = collection.session_token()
    response = client.request("GET", "docs", link, f"/{link}", headers=headers)
    if response.headers.get("x-ms-substatus") == "1002":
        ledger.problem(f"{document.name}: the server is behind {headers['x-ms-session-token']}")
        return
    if response.status not in (200, 404):
        ledger.problem(f"{document.name}: read answers {response.status} {response.body[:200]}")
        return
    found = json.loads(response.body) if response.status == 200 else None
    problem = document.check(found, found and found["_etag"])
    if problem:
        ledger.problem(problem)
    document.touched = False
    check_lsn(ledger, collection, document, response)


def check_lsn(ledger, collection, document, response):
    token = parse_session_token(response.headers.get("x-ms-session-token", ""))
    if token is None:
        if response.status == 200:
            ledger.problem(f"{document.name}: read without a session token")
        return
    range_id, lsn = token
    if lsn < collection.lsn.get(range_id, 0):
        ledger.problem(f"{document.name}: LSN {lsn} of range {range_id} was {collection.lsn[range_id]} before")
    collection.note_lsn(range_id, lsn)


def check_feed(ledger, client, collection):
    """The feed holds exactly the documents that exist, in their state, once each."""
    headers = {} if collection.partitioned else collection.headers()
    found = {}
    for document in feed(client, collection.link, "docs", "Documents", headers):
        if document["id"] in found:
            ledger.problem(f"{collection.name}/{document['id']}: twice in the feed")
        found[document["id"]] = document
    expected = [*collection.documents, *([collection.contended] if collection.contended else [])]
    for document in expected:
        listed = found.pop(document.id, None)
        version = listed["version"] if listed else ABSENT
        if version != document.version:
            ledger.problem(f"{document.name}: feed has version {version}, point read {document.version}")
        elif listed:
            problem = document.check(listed, listed["_etag"])
            if problem:
                ledger.problem(f"feed: {problem}")
    for id in found:
        ledger.problem(f"{collection.name}/{id}: in the feed, never written")
