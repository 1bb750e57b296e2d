"""The scripts of docs/choosing-a-partition-key.md: they run, clean up, and show what the guide says."""

import json
import os
import re
import subprocess
import sys
import urllib.request

import pytest
from server import REPOSITORY, Server

EXAMPLES = REPOSITORY / "docs" / "examples" / "partitioning"


@pytest.fixture(scope="module")
def plain():
    """A server without any setting, as the guide has it."""
    with Server() as server:
        yield server


@pytest.fixture
def run(plain):
    """Runs a script; gives its tables by their headings, each a list of rows by title."""

    def run(script, *flags):
        # Settings of whoever runs the tests are not meant for the script.
        environment = {name: value for name, value in os.environ.items() if name[:6] != "SHEAF_"}
        environment["SHEAF_ENDPOINT"] = plain.endpoint
        command = [sys.executable, EXAMPLES / script, *flags]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        print(done.stdout)
        with urllib.request.urlopen(f"{plain.endpoint}_sheaf/partitions") as page:
            assert json.load(page) == {"partitions": []}, "it leaves nothing behind"
        return tables(done.stdout)

    return run


def tables(text):
    found = {}
    for block in text.split("\n\n"):
        heading, *lines = block.strip().splitlines() or [""]
        cells = [re.split(r"\s{2,}", line.strip()) for line in lines]
        found[heading] = [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]
    return found


def figure(cell):
    return float(cell.removesuffix(" %").removesuffix(" ms").replace(",", ""))


def test_a_hot_key(run):
    printed = run("hot_key.py", "--seconds", "2")
    hot, spread = (printed[f"{name}, by partition:"] for name in ("hot-key", "spread-keys"))
    for partitions in (hot, spread):
        assert [row["RESERVED RU/S"] for row in partitions] == ["400"] * 4
    assert sum(row["SERVED"] != "0" for row in hot) == 1
    assert all(row["SERVED"] != "0" for row in spread)
    assert [row["HOTTEST KEY (RU/S)"][:9] for row in hot if row["SERVED"] != "0"] == ["device-0 "]
    both = {row["KEYS"]: row for row in printed["both, until the last write was served:"]}
    hot, spread = both["hot-key"], both["spread-keys"]
    # A slow machine may bunch some of the writes that are spread, but each partition takes its part of them.
    assert figure(hot["429"]) > 4 * figure(spread["429"])
    assert figure(hot["THROTTLED"]) > figure(spread["THROTTLED"])
    # One partition has 400 RU/s and what it saved in a second; the last few may be in debt.
    units = figure(hot["RU/S SERVED"]) * figure(hot["SECONDS"])
    assert units <= 400 * (figure(hot["SECONDS"]) + 2)


def test_a_date_as_the_key(run):
    printed = run("date_rollup.py")
    by_day, by_host = printed["writes of one day, by partition:"]
    used = [sum(cell not in ("0", "by-day", "by-host") for cell in row.values()) for row in (by_day, by_host)]
    assert used == [1, 3]
    queries = {(row["WHAT"], row["KEY"]): row for row in printed["queries:"]}
    for what, good, bad in (("a morning", "by-day", "by-host"), ("a host, all days", "by-host", "by-day")):
        cheap, dear = queries[what, good], queries[what, bad]
        assert cheap["ROWS"] == dear["ROWS"] != "0"
        assert (cheap["PARTITIONS READ"], dear["PARTITIONS READ"]) == ("1", "3")
        assert figure(cheap["RU"]) < figure(dear["RU"])


def test_a_collection_for_each_month(run):
    printed = run("collection_per_month.py", "--seconds", "1.5")
    for heading, current in (("March:", "2017-03"), ("April:", "2017-04")):
        for row in printed[heading]:
            is_current = row["COLLECTION"] == current
            assert row["RESERVED RU/S"] == ("1500" if is_current else "400")
            assert (figure(row["WRITES RU/S"]) > 0) == is_current
            assert row["THROTTLED"] == "0 %"
    late = {row["COLLECTION"]: row for row in printed["April, and late writes to March:"]}
    assert figure(late["2017-03"]["THROTTLED"]) > 0
    assert (late["2017-02"]["THROTTLED"], late["2017-04"]["THROTTLED"]) == ("0 %", "0 %")
    assert [row["RU/S"] for row in printed["reserved by all offers:"]] == ["2300", "2300", "4500"]
    assert "January was dropped with its 5 documents for 4.95 RU." in printed


def test_tenants(run):
    printed = run("tenants.py", "--seconds", "1.5")
    rows = {(row["TENANTS"], row["WHO"]): row for row in printed["one noisy tenant among six small ones:"]}
    reserved = {layout: row["RESERVED RU/S"] for (layout, _), row in rows.items()}
    assert reserved == {"by key": "1200", "by collection": "2800", "in tiers": "1200"}
    for layout in reserved:
        assert figure(rows[layout, "noisy"]["THROTTLED"]) > 0
        assert figure(rows[layout, "small"]["RU/S SERVED"]) > 0
        is_shared = layout == "by key"
        assert (figure(rows[layout, "small"]["THROTTLED"]) > 0) == is_shared
        assert (figure(rows[layout, "small"]["WAIT OF A WRITE"]) > 0) == is_shared


def test_hierarchical_keys(run):
    printed = run("hierarchical_keys.py")
    assert all("0" not in row.values() for row in printed["documents, by partition:"])
    rows = {(row["WHAT IS KNOWN"], row["KEY"]): row for row in printed["queries:"]}
    read = {place: row["PARTITIONS READ"] for place, row in rows.items()}
    known = ["tenant", "tenant + user", "tenant + user + session", "user"]
    assert [read[what, "three-levels"] for what in known] == ["1", "1", "1", "3"]
    assert [read[what, "session-only"] for what in known] == ["3", "3", "1", "3"]
    for what in known:
        assert rows[what, "three-levels"]["ROWS"] == rows[what, "session-only"]["ROWS"] != "0"


def test_the_id_as_the_key(run):
    printed = run("key_is_id.py")
    documents = [figure(row["DOCUMENTS"]) for row in printed["documents, by partition:"]]
    assert len(documents) == 3 and sum(documents) == 150 and min(documents) > 30
    costs = {row["WHAT"]: row for row in printed["what it costs:"]}
    visited = {what: row["PARTITIONS VISITED"] for what, row in costs.items()}
    assert visited == {"create": "1.0", "read by id": "1.0", "query by email": "3.0"}
    assert costs["read by id"]["RU EACH"] == "1.00"
    assert figure(costs["query by email"]["RU EACH"]) > 3


def test_who_has_no_server_is_told_so():
    environment = {**os.environ, "SHEAF_ENDPOINT": "http://127.0.0.1:9"}
    command = [sys.executable, EXAMPLES / "key_is_id.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no server at http://127.0.0.1:9" in done.stderr and "Traceback" not in done.stderr
