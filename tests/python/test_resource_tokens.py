"""Users, permissions, and clients that have no key but a token."""

import base64
import subprocess
import time

import pytest
from azure.cosmos import CosmosClient, PartitionKey, exceptions
from server import Server, binary

import scripting


@pytest.fixture(scope="module", params=[400, 25000], ids=["one", "three"])
def notes(request, database):
    """A container of the notes of five people."""
    name = f"notes-{request.param}"
    container = database.create_container(name, PartitionKey("/owner"), offer_throughput=request.param)
    for number in range(50):
        container.create_item({"id": f"n{number}", "owner": f"p{number % 5}", "n": number})
    return container


OWN = [f"n{number}" for number in range(1, 50, 5)]


def link(container, *more):
    return "/".join([container.container_link, *more])


@pytest.fixture
def permit(database, name):
    """Makes permissions of one new user."""
    user = database.create_user({"id": name})

    def permit(mode, resource, key=None, **options):
        body = {"id": f"{mode}-{len(list(user.list_permissions()))}", "permissionMode": mode, "resource": resource}
        if key is not None:
            body["resourcePartitionKey"] = [key]
        return user.create_permission(body, **options)

    permit.user = user
    return permit


def connected(server, container, *permissions, token=None):
    """The container as one sees it who has these permissions, or a token for it.

    Tokens go by links: of a list of permissions, azure-cosmos keeps the last parts of the links, and then
    looks for whole ones.
    """
    tokens = {permission.resource_link: permission.properties["_token"] for permission in permissions}
    if token:
        tokens[link(container)] = token
    client = CosmosClient(server.endpoint, tokens)
    return client.get_database_client("python").get_container_client(container.id)


def refuses(status, call):
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        call()
    assert caught.value.status_code == status, caught.value.message


def ids(items):
    return sorted((item["id"] for item in items), key=lambda text: int(text[1:]))


def test_users_and_permissions_are_resources(database, notes, name):
    user = database.create_user({"id": name})
    with pytest.raises(exceptions.CosmosResourceExistsError):
        database.create_user({"id": name})
    assert user.read()["_permissions"] == "permissions/"
    assert name in [found["id"] for found in database.list_users(max_item_count=1)]
    query = database.query_users("SELECT * FROM u WHERE u.id = @id", parameters=[{"name": "@id", "value": name}])
    assert [found["_rid"] for found in query] == [user.read()["_rid"]]
    renamed = database.replace_user(user, {"id": f"{name}-new"})
    assert database.upsert_user({"id": f"{name}-new"}).read()["_rid"] == renamed.read()["_rid"]

    body = {"id": "p", "permissionMode": "Read", "resource": link(notes)}
    made = renamed.create_permission(body)
    assert made.permission_mode == "Read" and made.resource_link == link(notes)
    token = made.properties["_token"]
    assert token.startswith("type=resource&ver=1&sig=")
    assert renamed.get_permission("p").properties["_token"] != token, "a new one for each reader"
    with pytest.raises(exceptions.CosmosResourceExistsError):
        renamed.create_permission({**body, "id": "q"})
    assert renamed.upsert_permission({**body, "permissionMode": "All"}).permission_mode == "All"
    replaced = renamed.replace_permission("p", {**body, "id": "q", "permissionMode": "all"})
    assert (replaced.id, replaced.permission_mode) == ("q", "all"), "as it was written"
    assert [found["_token"][:13] for found in renamed.list_permissions()] == ["type=resource"]
    found = list(renamed.query_permissions("SELECT * FROM p WHERE p.permissionMode = 'all'"))
    assert [(one["id"], one["_token"][:13]) for one in found] == [("q", "type=resource")]
    renamed.delete_permission("q")
    assert list(renamed.list_permissions()) == []
    database.delete_user(renamed)
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        renamed.read()


def test_a_reader_of_a_container(server, notes, permit):
    reader = connected(server, notes, permit("Read", link(notes)))
    assert reader.read()["id"] == notes.id
    assert len(list(reader.read_all_items(max_item_count=7))) == 50
    assert reader.read_item("n1", "p1")["n"] == 1
    assert ids(reader.query_items("SELECT * FROM c", partition_key="p1", max_item_count=3)) == OWN
    query = "SELECT VALUE COUNT(1) FROM c"
    assert list(reader.query_items(query, enable_cross_partition_query=True)) == [50]
    ordered = reader.query_items("SELECT * FROM c ORDER BY c.n DESC", enable_cross_partition_query=True)
    assert [item["n"] for item in ordered] == list(range(49, -1, -1))
    assert len(list(reader.query_items_change_feed(is_start_from_beginning=True))) == 50
    for write in (
        lambda: reader.create_item({"id": "x", "owner": "p1"}),
        lambda: reader.upsert_item({"id": "n1", "owner": "p1"}),
        lambda: reader.replace_item("n1", {"id": "n1", "owner": "p1"}),
        lambda: reader.patch_item("n1", "p1", [{"op": "add", "path": "/x", "value": 1}]),
        lambda: reader.delete_item("n1", "p1"),
        lambda: reader.execute_item_batch([("read", ("n1",))], "p1"),
        lambda: reader.scripts.create_stored_procedure({"id": "x", "body": "function x() {}"}),
        lambda: reader.scripts.execute_stored_procedure("x", "p1"),
    ):
        refuses(403, write)
    assert notes.read_item("n1", "p1").get("x") is None


def test_a_writer_of_a_container(server, database, notes, permit, name):
    made = permit("All", link(notes))
    writer = connected(server, notes, made)
    writer.create_item({"id": name, "owner": "new"})
    writer.patch_item(name, "new", [{"op": "add", "path": "/x", "value": 1}])
    writer.execute_item_batch([("upsert", ({"id": name, "owner": "new"},))], "new")
    scripting.procedure(writer, name, "function f(x) { getContext().getResponse().setBody(x + 1); }")
    assert writer.scripts.execute_stored_procedure(name, "new", [1]) == 2
    writer.scripts.delete_stored_procedure(name)
    writer.delete_item(name, "new")
    # Nothing beside it.
    token = made.properties["_token"]
    client = CosmosClient(server.endpoint, {"dbs/python": token, f"{database.database_link}/colls/none": token})
    refuses(403, lambda: client.get_database_client("python").read())
    refuses(403, lambda: client.get_database_client("python").get_container_client("none").read())
    refuses(403, lambda: list(client.get_database_client("python").list_containers()))


def test_one_partition_key(server, notes, permit):
    """What each SDK does to read a key: with a header, by ranges, or without either."""
    reader = connected(server, notes, permit("Read", link(notes), "p1"))
    assert reader.read_item("n1", "p1")["n"] == 1
    refuses(403, lambda: reader.read_item("n2", "p2"))
    refuses(403, lambda: reader.read_item("n1", "p2"))
    for text in ("SELECT * FROM c", "SELECT * FROM c ORDER BY c.n", "SELECT DISTINCT c.id FROM c"):
        assert ids(reader.query_items(text, partition_key="p1", max_item_count=3)) == OWN
        refuses(403, lambda: list(reader.query_items(text, partition_key="p2")))
    assert list(reader.query_items("SELECT VALUE COUNT(1) FROM c", partition_key="p1")) == [10]
    pages = reader.query_items("SELECT * FROM c", partition_key="p1", max_item_count=4).by_page()
    sizes = [len(list(page)) for page in pages]
    assert sizes == [4, 4, 2]
    pages = reader.query_items("SELECT * FROM c", partition_key="p1", max_item_count=4).by_page()
    first = list(next(pages))
    rest = reader.query_items("SELECT * FROM c", partition_key="p1").by_page(pages.continuation_token)
    assert ids(first + [item for page in rest for item in page]) == OWN
    feed = reader.query_items_change_feed(partition_key="p1", is_start_from_beginning=True, max_item_count=4)
    assert ids(feed) == OWN
    refuses(403, lambda: reader.create_item({"id": "x", "owner": "p1"}))


def test_the_change_feed_of_one_key_goes_on(server, notes, permit, name):
    writer = connected(server, notes, permit("All", link(notes), name))
    writer.create_item({"id": "n1", "owner": name})
    feed = writer.query_items_change_feed(partition_key=name, start_time="Beginning")
    assert ids(feed) == ["n1"]
    token = writer.client_connection.last_response_headers["etag"]
    notes.create_item({"id": f"n{hash(name) % 1000 + 1000}", "owner": f"not {name}"})
    writer.upsert_item({"id": "n2", "owner": name})
    assert ids(writer.query_items_change_feed(continuation=token)) == ["n2"]


def test_writing_one_partition_key(server, notes, permit, name):
    procedure = "function f(id) { const c = getContext().getCollection();\n" \
        "c.createDocument(c.getSelfLink(), {id, owner: '" + name + "'}, (e, d) => {\n" \
        "if (e) throw e; getContext().getResponse().setBody(d.id); }); }"  # fmt: skip
    scripting.procedure(notes, name, procedure)
    writer = connected(server, notes, permit("All", link(notes), name))
    writer.create_item({"id": "n1", "owner": name})
    writer.upsert_item({"id": "n1", "owner": name, "again": True})
    writer.execute_item_batch([("create", ({"id": "n2", "owner": name},))], name)
    assert writer.scripts.execute_stored_procedure(name, name, ["n3"]) == "n3"
    assert ids(writer.query_items("SELECT * FROM c", partition_key=name)) == ["n1", "n2", "n3"]
    for write in (
        lambda: writer.create_item({"id": "n4", "owner": "p1"}),
        lambda: writer.delete_item("n1", "p1"),
        lambda: writer.execute_item_batch([("delete", ("n1",))], "p1"),
        lambda: writer.scripts.execute_stored_procedure(name, "p1", ["n5"]),
        # They belong to everybody.
        lambda: writer.scripts.delete_stored_procedure(name),
        lambda: writer.scripts.create_stored_procedure({"id": "x", "body": "function x() {}"}),
        lambda: writer.scripts.create_trigger(
            {"id": "x", "body": "function x() {}", "triggerType": "Pre", "triggerOperation": "All"}
        ),
    ):
        refuses(403, write)
    writer.delete_item("n1", name)


def test_one_document_and_one_procedure(server, notes, permit, name):
    notes.create_item({"id": name, "owner": "p1"})
    body = "function f() { getContext().getResponse().setBody('ran'); }"
    scripting.procedure(notes, name, body)
    own = notes.read_item(name, "p1")
    for resource in (link(notes, "docs", name), own["_self"]):
        made = permit("All", resource, "p1")
        one = connected(server, notes, token=made.properties["_token"])
        assert one.read_item(name, "p1")["id"] == name
        one.replace_item(name, {"id": name, "owner": "p1", "mine": True})
        refuses(403, lambda: one.read_item("n1", "p1"))
        refuses(403, lambda: list(one.query_items("SELECT * FROM c", partition_key="p1")))
        refuses(403, lambda: one.create_item({"id": "n100", "owner": "p1"}))
        # By name and by rid it is the same resource, and a user has one permission for it.
        permit.user.delete_permission(made)
    token = permit("All", link(notes, "sprocs", name)).properties["_token"]
    scripts = connected(server, notes, token=token).scripts
    assert scripts.execute_stored_procedure(name, "p1") == "ran"
    refuses(403, lambda: scripts.get_stored_procedure("other"))


def test_tokens_end(server, notes, permit):
    """With the permission, when it changes, with the user; and what was never one."""
    made = permit("Read", link(notes))
    token = made.properties["_token"]
    reader = connected(server, notes, token=token)
    assert reader.read_item("n1", "p1")["n"] == 1
    permit.user.replace_permission(made, {**made.properties, "permissionMode": "All"})
    refuses(401, lambda: reader.read_item("n1", "p1"))
    made = permit.user.get_permission(made)
    writer = connected(server, notes, made)
    writer.upsert_item(notes.read_item("n1", "p1"))
    permit.user.delete_permission(made)
    refuses(401, lambda: writer.read_item("n1", "p1"))
    refuses(401, lambda: connected(server, notes, made))
    refuses(401, lambda: connected(server, notes, token="type=resource&ver=1&sig=AAAA;AAAA;"))
    signature, content = token.partition("sig=")[2].rstrip(";").split(";")
    changed = bytearray(base64.b64decode(content))
    changed[-9] ^= 1
    forged = f"type=resource&ver=1&sig={signature};{base64.b64encode(changed).decode()};"
    refuses(401, lambda: connected(server, notes, token=forged))


def test_tokens_expire(server, notes, permit):
    made = permit("Read", link(notes), request_options={"resourceTokenExpirySeconds": 10})
    content = base64.b64decode(made.properties["_token"].rstrip(";").rpartition(";")[2])
    left = int.from_bytes(content[25:33], "big") - time.time()
    assert 0 < left <= 10
    for bad in (9, 86401, -1, "soon"):
        options = {"resourceTokenExpirySeconds": bad}
        refuses(400, lambda: permit.user.get_permission(made, request_options=options))


def test_tokens_and_keys(tmp_path):
    """Keys that may only read get no tokens, and no token outlives the key that it was made with."""

    def regenerate(*which):
        """The keys, some of them new."""
        run = [binary(), "keys", "--data-dir", tmp_path]
        for name in which:
            subprocess.run([*run[:2], "regenerate", name, *run[2:]], check=True, capture_output=True)
        lines = (tmp_path / "keys").read_text(encoding="utf-8").splitlines()
        pairs = (line.split("=", 1) for line in lines if "=" in line and line[:1] != "#")
        return {name.strip(): value.strip().strip('"') for name, value in pairs}

    keys = regenerate("all")
    with Server(data_dir=tmp_path) as server:
        client = CosmosClient(server.endpoint, keys["primary"])
        database = client.create_database("python")
        container = database.create_container("c", PartitionKey("/pk"))
        user = database.create_user({"id": "u"})
        made = user.create_permission({"id": "p", "permissionMode": "All", "resource": link(container)})
        reader = CosmosClient(server.endpoint, keys["primary_readonly"]).get_database_client("python")
        assert reader.get_user_client("u").read()["id"] == "u"
        refuses(403, lambda: reader.get_user_client("u").get_permission("p"))
        refuses(403, lambda: list(reader.get_user_client("u").list_permissions()))
        refuses(403, lambda: list(reader.get_user_client("u").query_permissions("SELECT * FROM p")))
        holder = connected(server, container, made)
        holder.create_item({"id": "x", "pk": "x"})
        regenerate("secondary")
        assert holder.read_item("x", "x")["id"] == "x"
        keys = regenerate("primary")
        refuses(401, lambda: holder.read_item("x", "x"))
        client = CosmosClient(server.endpoint, keys["primary"])
        made = client.get_database_client("python").get_user_client("u").get_permission("p")
        assert connected(server, container, made).read_item("x", "x")["id"] == "x"
        assert server.stop() == 0
