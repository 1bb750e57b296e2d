"""The cases of the specification, over collections with one partition and with three, in one page
and in many. They lie beside the repository; without them there is nothing to check."""

import json
from pathlib import Path

import pytest

from planner import follow
from query_client import PLANS, ask, plain, rows

SPEC = Path(__file__).resolve().parents[3] / "shared" / "spec"
KEY = {"paths": ["/id"], "kind": "Hash", "version": 2}


def load(name):
    path = SPEC / name
    return json.loads(path.read_text()) if path.exists() else []


CASES = load("sql-cases.json")


@pytest.fixture(scope="module", params=[400, 30000], ids=["one", "three"])
def filled(request, client, db):
    """Finds the collection with a case's documents."""
    made = {}
    datasets = load("sql-datasets.json")

    def filled(case):
        documents = datasets[case["dataset"]] if "dataset" in case else case["docs"]
        text = json.dumps(documents)
        if text not in made:
            offer = {"x-ms-offer-throughput": str(request.param)}
            made[text] = db.collection(partitionKey=KEY, headers=offer)
            for document in documents:
                assert client.post(made[text].docs, document).status == 201
        return made[text].docs

    return filled


def check(case, found):
    found, expected = [[plain(row) for row in some] for some in (found, case["expected"])]
    if not case["ordered"]:
        found.sort(), expected.sort()
    assert found == expected


def parameters(case):
    return {item["name"][1:]: item["value"] for item in case.get("parameters", [])}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(client, filled, case):
    docs = filled(case)
    for size in (None, 1):
        check(case, rows(client, docs, case["query"], None, parameters(case), size))


PLANNED = [case for case in CASES if "FROM c" in case["query"]]


@pytest.mark.parametrize("case", PLANNED, ids=lambda case: case["name"])
def test_case_by_plan(client, filled, case):
    """A client that merges by itself comes to the same rows."""
    docs = filled(case)
    refused = ask(client, docs, case["query"], PLANS, parameters(case))
    assert refused.status == 200 or (refused.status, refused.substatus) == (400, 1004)
    check(case, follow(client, docs, case["query"], parameters(case)))
