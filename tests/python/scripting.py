"""Stored procedures and triggers of the tests. What both languages test is in tests/support/scripts."""

from pathlib import Path

import pytest
from azure.cosmos import exceptions

FOLDER = Path(__file__).resolve().parents[1] / "support" / "scripts"


def source(name):
    return (FOLDER / f"{name}.js").read_text(encoding="utf-8")


def procedure(container, name, body=None):
    """Registers a stored procedure, of the shared ones unless a body is given, and returns its caller."""
    made = container.scripts.create_stored_procedure({"id": name, "body": body or source(name)})

    def call(key, *arguments, **options):
        return container.scripts.execute_stored_procedure(made, key, list(arguments), **options)

    return call


def trigger(container, name, when, operation="All", body=None):
    """Registers a trigger, of the shared ones unless a body is given, and returns its name."""
    definition = {"id": name, "body": body or source(name), "triggerType": when, "triggerOperation": operation}
    return container.scripts.create_trigger(definition)["id"]


def refused(status, call, *arguments, **options):
    """The refusal of a call, which must have this status and substatus."""
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        call(*arguments, **options)
    assert (caught.value.status_code, caught.value.sub_status or 0) == status, caught.value.message
    return caught.value


def stored(container, key):
    """All items of a key, without what the system adds."""
    found = container.query_items("SELECT * FROM c", partition_key=key)
    return [{name: value for name, value in item.items() if name[0] != "_"} for item in found]
