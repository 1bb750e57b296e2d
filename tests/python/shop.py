"""Items that most tests of queries read: sixty, over nine keys. Expected rows are computed from
them here, in Python, so that no test repeats what the server says."""

NAMES = ["apple", "Äpfel", "banana", "Zebra", "zebra", "日本", "🦀 crab", "", 'it\'s "q"', "new\nline"]
TAGS = ["red", "green", "blue", "ü"]


def item(n):
    made = {
        "id": f"item-{n:02}", "pk": f"key-{n % 9}", "n": n, "g": n % 4, "price": n * 1.25, "name": NAMES[n % 10],
        "tags": TAGS[: n % 5], "in_stock": n % 3 == 0, "size": {"w": n % 6, "h": -n},
        "parts": [{"name": f"part-{m}", "count": m * n} for m in range(n % 3)],
        "place": {"type": "Point", "coordinates": [n - 30, (n % 10) * 4]},
    }  # fmt: skip
    if n % 2:
        made["note"] = f"odd {n}"
    return made


ITEMS = [item(n) for n in range(60)]
KEYS = sorted({item["pk"] for item in ITEMS})

POLICY = {
    "indexingMode": "consistent",
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": "/size/*"}],
    "compositeIndexes": [
        [{"path": "/g", "order": "ascending"}, {"path": "/n", "order": "descending"}],
        [{"path": "/name", "order": "ascending"}, {"path": "/g", "order": "ascending"}, {"path": "/n", "order": "ascending"}],
    ],
    "spatialIndexes": [{"path": "/place/*", "types": ["Point"]}],
}  # fmt: skip
COMPUTED = [
    {"name": "shout", "query": "SELECT VALUE UPPER(c.name) FROM c"},
    {"name": "half", "query": "SELECT VALUE c.n / 2 FROM c"},
]


def plain(found):
    """Items without what the system adds."""
    return [{name: value for name, value in item.items() if name[0] != "_"} for item in found]


def by_id(found):
    return sorted(plain(found), key=lambda item: item["id"])
