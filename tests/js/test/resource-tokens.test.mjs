// Users, permissions, and clients that have no key but tokens.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ChangeFeedStartFrom, CosmosClient, PermissionMode } from "@azure/cosmos";
import { endpoint, refuses, temporaryDatabase, unique } from "../lib/account.mjs";
import { procedure } from "../lib/scripts.mjs";
import { sizes } from "../lib/queries.mjs";

const own = [1, 6, 11, 16, 21, 26, 31, 36, 41, 46].map((n) => `n${n}`);
const sorted = (items) => items.map(({ id }) => id).sort((a, b) => a.slice(1) - b.slice(1));

describe("resource tokens", () => {
  let database;

  before(async () => { database = await temporaryDatabase(); });
  after(() => database.delete());

  /** Makes permissions of one new user. */
  async function permissions() {
    const { user } = await database.users.create({ id: unique("user") });
    let count = 0;
    const permit = async (permissionMode, resource, resourcePartitionKey) => {
      count += 1;
      const definition = { id: `p${count}`, permissionMode, resource, resourcePartitionKey };
      return (await user.permissions.create(definition)).resource;
    };
    return { user, permit };
  }

  /** The container as one sees it who has these permissions. */
  function holding(container, ...permissionFeed) {
    const client = new CosmosClient({ endpoint, permissionFeed });
    return client.database(database.id).container(container.id);
  }

  const link = (container, ...more) =>
    [`dbs/${database.id}/colls/${container.id}`, ...more].join("/");

  test("users and permissions are resources", async () => {
    const { container } = await database.containers.create({ id: unique("c"), partitionKey: "/pk" });
    const id = unique("user");
    const { resource: made, user } = await database.users.create({ id });
    await refuses(409, () => database.users.create({ id }));
    assert.equal((await user.read()).resource._rid, made._rid);
    const query = { query: "SELECT * FROM u WHERE u.id = @id", parameters: [{ name: "@id", value: id }] };
    assert.equal((await database.users.query(query).fetchAll()).resources[0]._rid, made._rid);
    assert.ok((await database.users.readAll({ maxItemCount: 1 }).fetchAll()).resources.length > 0);
    const { resource: renamed } = await user.replace({ id: `${id}-new` });
    assert.equal(renamed._rid, made._rid);
    const { resource: upserted, user: other } = await database.users.upsert({ id: `${id}-new` });
    assert.equal(upserted._rid, made._rid);

    const definition = { id: "p", permissionMode: PermissionMode.Read, resource: link(container) };
    const { resource: permission } = await other.permissions.create(definition, {
      resourceTokenExpirySeconds: 60,
    });
    assert.match(permission._token, /^type=resource&ver=1&sig=/);
    await refuses(409, () => other.permissions.create({ ...definition, id: "q" }));
    const { resource: more } = await other.permissions.upsert({ ...definition, permissionMode: "all" });
    assert.equal(more.permissionMode, "all", "as it was written");
    const { resource: again } = await other.permission("p").read();
    assert.notEqual(again._token, permission._token);
    const { resources: all } = await other.permissions.readAll().fetchAll();
    assert.match(all[0]._token, /^type=resource/);
    const { resources: found } = await other.permissions.query("SELECT * FROM p").fetchAll();
    assert.match(found[0]._token, /^type=resource/);
    const { resource: replaced } = await other.permission("p").replace({ ...definition, id: "q" });
    assert.equal(replaced.id, "q");
    await other.permission("q").delete();
    await refuses(404, () => other.permission("q").read());
    await other.delete();
    await refuses(404, () => other.read());
  });

  for (const [size, throughput] of sizes) {
    describe(`with ${size}`, () => {
      let notes;

      before(async () => {
        const definition = { id: unique("notes"), partitionKey: { paths: ["/owner"], version: 2 }, throughput };
        ({ container: notes } = await database.containers.create(definition));
        for (let n = 0; n < 50; n += 1) await notes.items.create({ id: `n${n}`, owner: `p${n % 5}`, n });
      });

      test("a reader of the container", async () => {
        const { permit } = await permissions();
        const reader = holding(notes, await permit(PermissionMode.Read, link(notes)));
        assert.equal((await reader.read()).resource.id, notes.id);
        assert.equal((await reader.item("n1", "p1").read()).resource.n, 1);
        assert.equal((await reader.items.readAll({ maxItemCount: 7 }).fetchAll()).resources.length, 50);
        const { resources: count } = await reader.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll();
        assert.deepEqual(count, [50]);
        const { resources: ordered } = await reader.items.query("SELECT * FROM c ORDER BY c.n").fetchAll();
        assert.deepEqual(ordered.map(({ n }) => n), Array.from({ length: 50 }, (_, n) => n));
        for (const write of [
          () => reader.items.create({ id: "x", owner: "p1" }),
          () => reader.items.upsert({ id: "n1", owner: "p1" }),
          () => reader.item("n1", "p1").replace({ id: "n1", owner: "p1" }),
          () => reader.item("n1", "p1").delete(),
          () => reader.item("n1", "p1").patch([{ op: "add", path: "/x", value: 1 }]),
          () => reader.scripts.storedProcedures.create({ id: "x", body: "function x() {}" }),
          () => reader.scripts.storedProcedure("x").execute("p1"),
          () => reader.delete(),
        ]) {
          await refuses(403, write);
        }
      });

      test("a writer of the container", async () => {
        const { permit } = await permissions();
        const permission = await permit("All", link(notes));
        const writer = holding(notes, permission);
        const id = unique("w");
        await writer.items.create({ id, owner: "new" });
        const call = await procedure(writer, id, "function f(x) { getContext().getResponse().setBody(x + 1); }");
        assert.equal(await call("new", 1), 2);
        await writer.scripts.storedProcedure(id).delete();
        const { result } = await writer.items.batch([{ operationType: "Read", id }], "new");
        assert.equal(result[0].statusCode, 200);
        await writer.item(id, "new").delete();
        // Nothing beside it: the client has to send the token that it has.
        const client = new CosmosClient({ endpoint, tokenProvider: async () => permission._token });
        await refuses(403, () => client.database(database.id).read());
        await refuses(403, () => client.database(database.id).container("none").read());
        await refuses(403, () => client.databases.readAll().fetchAll());
      });

      test("one partition key: reads, queries, paging, the change feed", async () => {
        const { permit } = await permissions();
        const permission = await permit("Read", link(notes), ["p1"]);
        const reader = holding(notes, permission);
        assert.equal((await reader.item("n1", "p1").read()).resource.n, 1);
        await refuses(403, () => reader.item("n2", "p2").read());
        for (const text of ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n", "SELECT DISTINCT c.id FROM c"]) {
          const options = { partitionKey: "p1", maxItemCount: 3 };
          assert.deepEqual(sorted((await reader.items.query(text, options).fetchAll()).resources), own, text);
          await refuses(403, () => reader.items.query(text, { partitionKey: "p2" }).fetchAll());
        }
        const pages = [];
        let continuationToken;
        do {
          const options = { partitionKey: "p1", maxItemCount: 4, continuationToken };
          const page = await reader.items.query("SELECT * FROM c", options).fetchNext();
          pages.push(...page.resources);
          continuationToken = page.continuationToken;
        } while (continuationToken);
        assert.deepEqual(sorted(pages), own);
        const options = { maxItemCount: 4, changeFeedStartFrom: ChangeFeedStartFrom.Beginning("p1") };
        const iterator = reader.items.getChangeFeedIterator(options);
        const changes = [];
        for (;;) {
          const page = await iterator.readNext();
          if (page.statusCode === 304) break;
          changes.push(...page.result);
        }
        assert.deepEqual(sorted(changes), own);
        await refuses(403, () => reader.items.create({ id: "x", owner: "p1" }));
      });

      test("one partition key: writes and stored procedures", async () => {
        const id = unique("key");
        await procedure(notes, id, `function f(id) { const c = getContext().getCollection();
          c.createDocument(c.getSelfLink(), { id, owner: "${id}" }, (e, d) => {
            if (e) throw e; getContext().getResponse().setBody(d.id); }); }`);
        const { permit } = await permissions();
        const writer = holding(notes, await permit("All", link(notes), [id]));
        await writer.items.create({ id: "n1", owner: id });
        await writer.items.upsert({ id: "n1", owner: id, again: true });
        await writer.items.batch([{ operationType: "Create", resourceBody: { id: "n2", owner: id } }], id);
        const run = writer.scripts.storedProcedure(id);
        assert.equal((await run.execute(id, ["n3"])).resource, "n3");
        const bulk = await writer.items.executeBulkOperations([
          { operationType: "Create", partitionKey: id, resourceBody: { id: "n4", owner: id } },
        ]);
        assert.equal(bulk[0].response.statusCode, 201);
        const { resources } = await writer.items.query("SELECT * FROM c", { partitionKey: id }).fetchAll();
        assert.deepEqual(sorted(resources), ["n1", "n2", "n3", "n4"]);
        await refuses(403, () => writer.items.create({ id: "n5", owner: "p1" }));
        await refuses(403, () => writer.item("n1", "p1").delete());
        await refuses(403, () => run.execute("p1", ["n6"]));
        await refuses(403, () => run.delete());
        await writer.item("n1", id).delete();
      });

      test("tokens by resource, and one token for all", async () => {
        const { permit } = await permissions();
        const { _token: token } = await permit("Read", link(notes));
        for (const credential of [
          { resourceTokens: { [link(notes)]: token } },
          { resourceTokens: { [notes.id]: token } },
          { tokenProvider: async () => token },
        ]) {
          const client = new CosmosClient({ endpoint, ...credential });
          const reader = client.database(database.id).container(notes.id);
          assert.equal((await reader.item("n1", "p1").read()).resource.n, 1);
          const { resources } = await reader.items.query("SELECT * FROM c", { partitionKey: "p1" }).fetchAll();
          assert.deepEqual(sorted(resources), own);
        }
      });

      test("tokens end with their permission", async () => {
        const { user, permit } = await permissions();
        const { _token: token, id } = await permit("Read", link(notes));
        const client = new CosmosClient({ endpoint, tokenProvider: async () => token });
        const item = client.database(database.id).container(notes.id).item("n1", "p1");
        assert.equal((await item.read()).resource.n, 1);
        await user.permission(id).delete();
        await refuses(401, () => item.read());
        await refuses(401, () => client.getDatabaseAccount());
      });
    });
  }
});
