// Queries over databases, containers and offers, and the throughput that SDKs find by query.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, pagesOf, refuses, unique } from "../lib/account.mjs";

const client = connect();
const prefix = unique("res");
const created = [];

before(async () => {
  for (const [name, throughput] of [["a", 400], ["b", undefined], ["c", undefined]]) {
    const { database } = await client.databases.create({ id: `${prefix}-${name}`, throughput });
    created.push(database);
  }
  for (let n = 0; n < 5; n += 1) {
    await created[1].containers.create({ id: `c${n}`, partitionKey: `/k${n % 2}`, throughput: 400 + 100 * n, defaultTtl: n > 2 ? 60 : undefined });
  }
});
after(() => Promise.all(created.map((database) => database.delete())));

function spec(query, values) {
  return { query, parameters: Object.entries(values).map(([name, value]) => ({ name: `@${name}`, value })) };
}

describe("databases", () => {
  test("by id, by pattern, in order", async () => {
    const byId = spec("SELECT * FROM root r WHERE r.id = @id", { id: `${prefix}-a` });
    const { resources } = await client.databases.query(byId).fetchAll();
    assert.equal(resources.length, 1);
    assert.deepEqual(resources[0], (await client.database(`${prefix}-a`).read()).resource);

    const byPrefix = spec("SELECT VALUE d.id FROM d WHERE STARTSWITH(d.id, @prefix) ORDER BY d.id DESC", { prefix });
    assert.deepEqual((await client.databases.query(byPrefix).fetchAll()).resources, ["c", "b", "a"].map((name) => `${prefix}-${name}`));
    const none = spec("SELECT * FROM d WHERE d.id = @id", { id: unique("none") });
    assert.deepEqual((await client.databases.query(none).fetchAll()).resources, []);
  });

  test("in pages", async () => {
    const query = spec("SELECT VALUE d.id FROM d WHERE STARTSWITH(d.id, @prefix)", { prefix });
    const pages = await pagesOf(client.databases.query(query, { maxItemCount: 1 }));
    assert.ok(pages.every((page) => page.length <= 1));
    assert.deepEqual(pages.flat().sort(), ["a", "b", "c"].map((name) => `${prefix}-${name}`));
  });

  test("mistakes", async () => {
    const failure = await refuses(400, () => client.databases.query("SELECT * FRM d").fetchAll());
    assert.match(failure.body.message, /SC1001/);
  });
});

describe("containers", () => {
  test("by id and by definition", async () => {
    const own = created[1];
    const { resources } = await own.containers.query(spec("SELECT * FROM c WHERE c.id = @id", { id: "c3" })).fetchAll();
    assert.equal(resources.length, 1);
    assert.deepEqual(resources[0], (await own.container("c3").read()).resource);
    const byPath = await own.containers.query("SELECT c.id FROM c WHERE c.partitionKey.paths[0] = '/k1' ORDER BY c.id").fetchAll();
    assert.deepEqual(byPath.resources, [{ id: "c1" }, { id: "c3" }]);
    const byTtl = await own.containers.query("SELECT VALUE c.id FROM c WHERE c.defaultTtl > 0 ORDER BY c.id").fetchAll();
    assert.deepEqual(byTtl.resources, ["c3", "c4"]);
    assert.deepEqual((await own.containers.query("SELECT VALUE COUNT(1) FROM c").fetchAll()).resources, [5]);
    assert.deepEqual((await created[2].containers.query("SELECT * FROM c").fetchAll()).resources, []);
  });

  test("in pages", async () => {
    const pages = await pagesOf(created[1].containers.query("SELECT VALUE c.id FROM c", { maxItemCount: 2 }));
    assert.ok(pages.every((page) => page.length <= 2));
    assert.deepEqual(pages.flat().sort(), ["c0", "c1", "c2", "c3", "c4"]);
  });

  test("of an absent database", async () => {
    await refuses(404, () => client.database(unique("none")).containers.query("SELECT * FROM c").fetchAll());
  });
});

describe("offers", () => {
  test("a container's throughput is read and replaced", async () => {
    const own = created[1].container("c1");
    const { resource, offer } = await own.readOffer();
    assert.equal(resource.content.offerThroughput, 500);
    const { resource: definition } = await own.read();
    assert.equal(resource.resource, definition._self);
    assert.equal(resource.offerResourceId, definition._rid);
    assert.deepEqual((await offer.read()).resource, resource);
    resource.content.offerThroughput = 700;
    assert.equal((await offer.replace(resource)).resource.content.offerThroughput, 700);
    assert.equal((await own.readOffer()).resource.content.offerThroughput, 700);
  });

  test("a database's throughput", async () => {
    const { resource } = await created[0].readOffer();
    assert.equal(resource.content.offerThroughput, 400);
    assert.equal((await created[2].readOffer()).resource, undefined);
  });

  test("autoscale", async () => {
    const { container } = await created[2].containers.create({ id: "auto", partitionKey: "/pk", maxThroughput: 4000 });
    const { resource } = await container.readOffer();
    assert.equal(resource.content.offerAutopilotSettings.maxThroughput, 4000);
  });

  test("by any property", async () => {
    const { resource: definition } = await created[1].container("c2").read();
    const query = spec("SELECT * FROM o WHERE o.offerResourceId = @rid", { rid: definition._rid });
    const { resources } = await client.offers.query(query).fetchAll();
    assert.deepEqual(resources.map(({ content }) => content.offerThroughput), [600]);
    const links = await Promise.all([3, 4].map(async (n) => (await created[1].container(`c${n}`).read()).resource._self));
    const several = spec("SELECT VALUE o.content.offerThroughput FROM o WHERE ARRAY_CONTAINS(@links, o.resource) ORDER BY o.content.offerThroughput", { links });
    assert.deepEqual((await client.offers.query(several).fetchAll()).resources, [700, 800]);
  });
});
