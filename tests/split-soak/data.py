"""What the documents are: the same in client.mjs.

The *fixed* ones are never changed, so every query over them has one right answer at any time. The
others belong to one writer each, and what they hold follows from their id and version.
"""

DATABASE, COLLECTION = "soak", "things"
PATH = f"/dbs/{DATABASE}/colls/{COLLECTION}"
KEYS = 97
FIXED = 210
GROUPS = 7
ABSENT = 0  # the version of a document that does not exist; written versions start at 1


def key(number):
    return f"key{number % KEYS}"


def fixed():
    """The documents that nobody changes, in the order of `n`."""
    return [
        {"id": f"fixed{n}", "pk": key(n * 31), "kind": "fixed", "n": n, "group": 1 + n * 5 % GROUPS, "text": "x" * (n % 50)}
        for n in range(FIXED)
    ]


def content(id, version):
    return f"{id} in version {version}. " * (1 + version * 7 % 40)


def owned(id, pk, version):
    """A writer's document in one of its versions."""
    return {"id": id, "pk": pk, "kind": "owned", "version": version, "text": content(id, version)}


def is_whole(document):
    """Whether a document of a writer is as it was written, and not a mixture."""
    return document["text"] == content(document["id"], document["version"])
