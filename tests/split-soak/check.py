"""At the end: is everything there that was acknowledged, once, and nothing else?"""

import json

from data import ABSENT, FIXED, PATH, fixed, is_whole
from http_client import Client, pk

QUERY = {
    "Content-Type": "application/query+json", "x-ms-documentdb-isquery": "true",
    "x-ms-documentdb-query-enablecrosspartition": "true",
}  # fmt: skip


def check_all(ledger, port, fillers):
    client = Client(port)
    by_feed = index(ledger, "feed", pages(client))
    by_index = {}
    for kind in ("fixed", "owned", "filler"):
        query = {"query": "SELECT * FROM c WHERE c.kind = @kind", "parameters": [{"name": "@kind", "value": kind}]}
        by_index |= index(ledger, f"query of {kind}", pages(client, query))
    if by_feed != by_index:
        strange = [id for id in by_feed.keys() | by_index.keys() if by_feed.get(id) != by_index.get(id)]
        ledger.problem(f"feed and index differ in {strange[:9]}")
    for id, document in ledger.documents.items():
        found = by_feed.pop(id, None)
        check_owned(ledger, id, document, found)
        read = client.get(f"{PATH}/docs/{id}", pk(document.pk))
        if (read.json if read.status == 200 else None) != found:
            ledger.problem(f"{id}: the feed has {found}, a read gives {read}")
    for each in fixed():
        found = by_feed.pop(each["id"], None)
        if found is None or any(found[name] != value for name, value in each.items()):
            ledger.problem(f"{each['id']}: nobody changed it, and it is {found}")
    left = [id for id in by_feed if not id.startswith("filler")]
    if left or len(by_feed) != fillers:
        ledger.problem(f"{len(by_feed)} fillers of {fillers}; never written: {left[:9]}")
    count = client.post(f"{PATH}/docs", {"query": "SELECT VALUE COUNT(1) FROM c", "parameters": []}, QUERY)
    existing = sum(document.version != ABSENT for document in ledger.documents.values())
    if count.json["Documents"] != [existing + FIXED + fillers]:
        ledger.problem(f"COUNT gives {count.json['Documents']}, expected {existing + FIXED + fillers}")
    client.close()


def check_owned(ledger, id, document, found):
    version = found["version"] if found else ABSENT
    if found and (not is_whole(found) or found["pk"] != document.pk):
        ledger.problem(f"{id}: a mixture: {json.dumps(found)[:300]}")
    possible = [document.version, *document.unknown]
    if not document.settle(version):
        ledger.problem(f"{id}: version {version} at the end, but only {possible} possible (0: absent)")


def pages(client, query=None):
    """All documents, of the feed or of a query."""
    token = None
    while True:
        headers = {"x-ms-max-item-count": "500", "x-ms-continuation": token}
        path = f"{PATH}/docs"
        answer = client.post(path, query, QUERY | headers) if query else client.get(path, headers)
        if answer.status != 200:
            raise RuntimeError(f"{query or 'feed'}: {answer}")
        yield from answer.json["Documents"]
        if (token := answer.continuation) is None:
            return


def index(ledger, what, documents):
    found = {}
    for document in documents:
        if document["id"] in found:
            ledger.problem(f"{what}: {document['id']} is there twice")
        found[document["id"]] = document
    return found
