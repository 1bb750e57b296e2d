"""Stored procedures, triggers and user-defined functions: made, found, changed, deleted."""

import asyncio

import pytest
from azure.cosmos import PartitionKey, documents, exceptions
from azure.cosmos.aio import CosmosClient as AsyncClient

from server import PUBLISHED_KEY

KINDS = ["stored_procedure", "trigger", "user_defined_function"]


class Kind:
    """One kind of script, under the same names as the others."""

    def __init__(self, scripts, kind):
        self.create = getattr(scripts, f"create_{kind}")
        self.get = getattr(scripts, f"get_{kind}")
        self.replace = getattr(scripts, f"replace_{kind}")
        self.delete = getattr(scripts, f"delete_{kind}")
        self.list = getattr(scripts, f"list_{kind}s")
        self.query = getattr(scripts, f"query_{kind}s")


def definition(kind, name, body="function () { var x = 10; }"):
    made = {"id": name, "body": body}
    if kind == "trigger":
        made |= {"triggerType": documents.TriggerType.Pre, "triggerOperation": documents.TriggerOperation.All}
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_the_life_of_a_script(database, name, kind):
    container = database.create_container(name, PartitionKey("/pk"))
    scripts = Kind(container.scripts, kind)
    assert list(scripts.list()) == []
    made = scripts.create(definition(kind, "sample"))
    for member, value in definition(kind, "sample").items():
        assert made[member] == value
    assert scripts.get("sample") == scripts.get(made) == made
    for n in range(4):
        scripts.create(definition(kind, f"more-{n}"))
    assert len(list(scripts.list())) == len(list(scripts.list(max_item_count=2))) == 5
    [found] = scripts.query("SELECT * FROM root r WHERE r.id=@id", [{"name": "@id", "value": "sample"}])
    assert found == made
    ids = list(scripts.query("SELECT VALUE r.id FROM r WHERE r.id > 'more-1' ORDER BY r.id", max_item_count=1))
    assert ids == ["more-2", "more-3", "sample"]

    changed = dict(made, body="function () { var x = 20; }")
    replaced = scripts.replace("sample", changed)
    assert replaced["body"] == changed["body"] and replaced["id"] == "sample"
    assert replaced["_rid"] == made["_rid"] and replaced["_etag"] != made["_etag"]
    assert scripts.get("sample") == replaced

    with pytest.raises(exceptions.CosmosResourceExistsError):
        scripts.create(definition(kind, "sample"))
    scripts.delete("sample")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        scripts.delete("sample")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        scripts.get("sample")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        scripts.replace("sample", changed)


@pytest.mark.parametrize("kind", KINDS)
def test_sources_are_checked(container, kind):
    scripts = Kind(container.scripts, kind)
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        scripts.create(definition(kind, "broken", "function f() {\n  var x = ;\n}"))
    assert caught.value.status_code == 400
    assert "SyntaxError" in caught.value.message and "line: 2, column: 11" in caught.value.message


def test_an_upsert_makes_or_changes(container, name):
    """The current SDK has no method for it any more; its connection still has."""
    connection, link = container.client_connection, container.container_link
    for kind, upsert in (
        ("stored_procedure", connection.UpsertStoredProcedure),
        ("trigger", connection.UpsertTrigger),
        ("user_defined_function", connection.UpsertUserDefinedFunction),
    ):
        first = upsert(link, definition(kind, name))
        second = upsert(link, definition(kind, name, "x => x"))
        assert first["_rid"] == second["_rid"] and second["body"] == "x => x"


def test_scripts_in_the_old_form(container, name):
    """`serverScript` is what the first SDKs called the body."""
    made = container.scripts.create_stored_procedure({"id": name, "serverScript": "function () { return 1; }"})
    assert made["body"] == "function () { return 1; }"


@pytest.mark.parametrize("kind", KINDS)
def test_asynchronously(server, container, name, kind):
    async def run():
        async with AsyncClient(server.endpoint, PUBLISHED_KEY) as client:
            there = client.get_database_client("python").get_container_client(container.id)
            scripts = Kind(there.scripts, kind)
            made = await scripts.create(definition(kind, name))
            assert name in [item["id"] async for item in scripts.list()]
            query = scripts.query("SELECT * FROM r WHERE r.id = @id", parameters=[{"name": "@id", "value": name}])
            assert [item async for item in query] == [made]
            replaced = await scripts.replace(name, dict(made, body="x => 2"))
            assert (await scripts.get(name)) == replaced
            await scripts.delete(name)

    asyncio.run(run())
