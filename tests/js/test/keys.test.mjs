// Keys that are replaced while clients use them, and keys that may only read.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CosmosClient } from "@azure/cosmos";
import { key as published, refuses } from "../lib/account.mjs";
import { Server } from "../lib/server.mjs";

const item = { id: "a", pk: "p" };

describe("keys", () => {
  let server;
  let keys;

  before(async () => {
    server = await Server.create();
    keys = await server.regenerate("all");
    await ends(published);
    const { database } = await client(keys.primary).databases.create({ id: "d" });
    const { container } = await database.containers.create({ id: "c", partitionKey: "/pk" });
    await container.items.create(item);
  });
  after(() => server.destroy());

  const client = (key) => new CosmosClient({ endpoint: server.endpoint, key });
  const items = (key) => client(key).database("d").container("c");

  /** Waits until a key is no longer good: the server looks at its file twice a second. */
  async function ends(key) {
    const deadline = Date.now() + 20_000;
    for (;;) {
      const code = await client(key).getDatabaseAccount().then(() => 200, (error) => error.code);
      if (code !== 200) return assert.equal(code, 401);
      assert.ok(Date.now() < deadline, "the key is still good");
    }
  }

  test("one is replaced and the others stay", async () => {
    const [before, other, reader] = [keys.primary, keys.secondary, keys.primary_readonly].map(items);
    assert.equal((await before.item("a", "p").read()).resource.id, "a");
    const { primary, ...more } = await server.regenerate("primary");
    assert.deepEqual(more, {});
    assert.notEqual(primary, keys.primary);
    await ends(keys.primary);
    // Clients that were at it, with the old key and with others.
    await refuses(401, () => before.item("a", "p").read());
    await refuses(401, () => before.items.upsert(item));
    for (const container of [other, reader, items(primary)]) {
      assert.equal((await container.item("a", "p").read()).resource.id, "a");
    }
    await other.items.upsert(item);
    await items(primary).items.upsert(item);
    await refuses(401, () => client(published).getDatabaseAccount());
    keys.primary = primary;
  });

  for (const name of ["primary_readonly", "secondary_readonly"]) {
    test(`${name} reads`, async () => {
      const container = items(keys[name]);
      assert.equal((await container.item("a", "p").read()).resource.id, "a");
      const { resources } = await container.items.query("SELECT VALUE c.id FROM c").fetchAll();
      assert.deepEqual(resources, ["a"]);
      assert.equal((await container.items.readAll().fetchAll()).resources.length, 1);
      assert.equal((await container.read()).resource.id, "c");
      assert.equal((await client(keys[name]).databases.readAll().fetchAll()).resources.length, 1);
    });

    test(`${name} changes nothing`, async () => {
      const [container, account] = [items(keys[name]), client(keys[name])];
      await refuses(403, () => container.items.create({ id: "b", pk: "p" }));
      await refuses(403, () => container.items.upsert(item));
      await refuses(403, () => container.item("a", "p").replace(item));
      await refuses(403, () => container.item("a", "p").patch([{ op: "add", path: "/x", value: 1 }]));
      await refuses(403, () => container.item("a", "p").delete());
      await refuses(403, () => container.delete());
      await refuses(403, () => account.databases.create({ id: "e" }));
      await refuses(403, () => account.database("d").delete());
      // A permission comes with a token, which may be one to write.
      const { user } = await client(keys.primary).database("d").users.upsert({ id: "u" });
      const permission = { id: "p", permissionMode: "All", resource: "dbs/d/colls/c" };
      await user.permissions.upsert(permission);
      const same = account.database("d").user("u");
      assert.equal((await same.read()).resource.id, "u");
      await refuses(403, () => same.permission("p").read());
      await refuses(403, () => same.permissions.readAll().fetchAll());
      assert.equal((await container.item("a", "p").read()).resource.id, "a");
    });
  }
});
