// Containers: their properties, partition keys, physical partitions and offers.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PartitionKeyDefinitionVersion, PartitionKeyKind } from "@azure/cosmos";
import { allItems, connect, refuses, temporaryDatabase, unique, withoutSystem } from "../lib/account.mjs";

const client = connect();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

async function offerOf(container) {
  const { resource } = await container.read();
  const { resources } = await client.offers.readAll().fetchAll();
  return resources.filter((offer) => offer.offerResourceId === resource._rid);
}

describe("containers", () => {
  test("are created, read and deleted", async () => {
    const id = unique("c");
    const created = await database.containers.create({
      id,
      partitionKey: { paths: ["/pk"], version: PartitionKeyDefinitionVersion.V2 },
    });
    assert.equal(created.statusCode, 201);

    const { resource, statusCode, etag } = await database.container(id).read();
    assert.equal(statusCode, 200);
    assert.deepEqual(resource, created.resource);
    assert.equal(etag, resource._etag);
    assert.deepEqual(resource.partitionKey.paths, ["/pk"]);
    assert.equal(resource.partitionKey.kind, "Hash");
    assert.equal(resource.partitionKey.version, 2);
    assert.deepEqual(resource.indexingPolicy, {
      indexingMode: "consistent",
      automatic: true,
      includedPaths: [{ path: "/*" }],
      excludedPaths: [{ path: '/"_etag"/?' }],
    });
    assert.equal(resource.conflictResolutionPolicy.mode, "LastWriterWins");
    assert.equal(resource.conflictResolutionPolicy.conflictResolutionPath, "/_ts");
    assert.deepEqual(resource.geospatialConfig, { type: "Geography" });
    const { resource: parent } = await database.read();
    assert.equal(resource._self, `dbs/${parent._rid}/colls/${resource._rid}/`);
    assert.equal(Buffer.from(resource._rid.replaceAll("-", "/"), "base64").length, 8);
    for (const child of ["docs", "sprocs", "triggers", "udfs", "conflicts"]) {
      assert.equal(resource[`_${child}`], `${child}/`);
    }

    assert.equal((await database.container(id).delete()).statusCode, 204);
    await refuses(404, () => database.container(id).read());
    await refuses(404, () => database.container(id).delete());
  });

  test("createIfNotExists creates once and keeps the items", async () => {
    const definition = { id: unique("c"), partitionKey: "/pk" };
    const first = await database.containers.createIfNotExists(definition);
    assert.equal(first.statusCode, 201);
    await first.container.items.create({ id: "kept", pk: 1 });
    const second = await database.containers.createIfNotExists(definition);
    assert.equal(second.statusCode, 200);
    assert.equal((await second.container.item("kept", 1).read()).statusCode, 200);
  });

  test("are listed, in pages too", async () => {
    const own = await temporaryDatabase(client);
    const ids = ["one", "two", "three", "four", "five"];
    for (const id of ids) await own.containers.create({ id, partitionKey: "/pk" });
    const { resources } = await own.containers.readAll().fetchAll();
    assert.deepEqual(resources.map((resource) => resource.id).sort(), [...ids].sort());

    const seen = [];
    let continuationToken;
    do {
      const page = await own.containers.readAll({ maxItemCount: 2, continuationToken }).fetchNext();
      assert.ok(page.resources.length <= 2);
      seen.push(...page.resources.map((resource) => resource.id));
      continuationToken = page.continuationToken;
    } while (continuationToken);
    assert.deepEqual(seen.sort(), [...ids].sort());
    await own.delete();
    await refuses(404, () => own.containers.readAll().fetchAll());
  });

  test("properties make the round trip", async () => {
    const definition = {
      id: unique("c"),
      partitionKey: { paths: ["/a/b"], kind: PartitionKeyKind.Hash, version: PartitionKeyDefinitionVersion.V2 },
      defaultTtl: 3600,
      indexingPolicy: {
        indexingMode: "consistent",
        automatic: true,
        includedPaths: [{ path: "/*" }],
        excludedPaths: [{ path: "/secret/*" }, { path: '/"_etag"/?' }],
        compositeIndexes: [
          [
            { path: "/name", order: "ascending" },
            { path: "/age", order: "descending" },
          ],
        ],
        spatialIndexes: [{ path: "/location/*", types: ["Point", "Polygon"] }],
      },
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }, { paths: ["/first", "/last"] }] },
      conflictResolutionPolicy: { mode: "LastWriterWins", conflictResolutionPath: "/priority" },
      geospatialConfig: { type: "Geography" },
      computedProperties: [{ name: "lower", query: "SELECT VALUE LOWER(c.name) FROM c" }],
    };
    await database.containers.create(definition);
    const { resource } = await database.container(definition.id).read();
    const { indexingPolicy, uniqueKeyPolicy, ...rest } = withoutSystem(resource);
    assert.deepEqual(indexingPolicy.compositeIndexes, definition.indexingPolicy.compositeIndexes);
    assert.equal(indexingPolicy.spatialIndexes[0].path, "/location/*");
    for (const type of ["Point", "Polygon"]) assert.ok(indexingPolicy.spatialIndexes[0].types.includes(type));
    assert.deepEqual(indexingPolicy.excludedPaths, definition.indexingPolicy.excludedPaths);
    assert.deepEqual(uniqueKeyPolicy.uniqueKeys.map(({ paths }) => paths), [["/email"], ["/first", "/last"]]);
    assert.equal(rest.defaultTtl, 3600);
    assert.equal(rest.conflictResolutionPolicy.conflictResolutionPath, "/priority");
    assert.deepEqual(rest.computedProperties, definition.computedProperties);
    assert.deepEqual(rest.partitionKey, definition.partitionKey);
  });

  test("replace changes what may change and refuses the rest", async () => {
    const { container, resource: first } = await database.containers.create({ id: unique("c"), partitionKey: "/pk" });
    await container.items.create({ id: "kept", pk: 1 });

    const changed = {
      id: container.id,
      partitionKey: first.partitionKey,
      defaultTtl: -1,
      indexingPolicy: { indexingMode: "consistent", includedPaths: [{ path: "/name/?" }], excludedPaths: [{ path: "/*" }] },
    };
    const { statusCode, resource } = await container.replace(changed);
    assert.equal(statusCode, 200);
    assert.equal(resource.defaultTtl, -1);
    assert.deepEqual(resource.indexingPolicy.includedPaths, [{ path: "/name/?" }]);
    assert.equal(resource._rid, first._rid);
    assert.notEqual(resource._etag, first._etag);
    assert.deepEqual((await container.read()).resource, resource);
    assert.equal((await container.item("kept", 1).read()).statusCode, 200);

    await refuses(400, () => container.replace({ ...changed, partitionKey: { paths: ["/other"], kind: "Hash", version: 2 } }));
    await refuses(400, () => container.replace({ ...changed, uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/late"] }] } }));
    await refuses(400, () => container.replace({ ...changed, defaultTtl: 0 }));
    await refuses(412, () =>
      container.replace(changed, { accessCondition: { type: "IfMatch", condition: first._etag } }),
    );
    assert.deepEqual((await container.read()).resource, resource);
  });

  test("bad definitions are refused and leave nothing", async () => {
    const key = { paths: ["/pk"], kind: "Hash", version: 2 };
    const bad = {
      "wildcard key path": { partitionKey: { paths: ["/a/*"], kind: "Hash", version: 2 } },
      "key path without slash": { partitionKey: { paths: ["pk"], kind: "Hash", version: 2 } },
      "two paths of kind Hash": { partitionKey: { paths: ["/a", "/b"], kind: "Hash", version: 2 } },
      "unknown kind": { partitionKey: { paths: ["/a"], kind: "Sorted", version: 2 } },
      "zero time to live": { partitionKey: key, defaultTtl: 0 },
      "indexing policy that does not cover the root": {
        partitionKey: key,
        indexingPolicy: { indexingMode: "consistent", includedPaths: [{ path: "/a/?" }], excludedPaths: [] },
      },
      "unknown indexing mode": { partitionKey: key, indexingPolicy: { indexingMode: "sometimes" } },
      "too many unique keys": {
        partitionKey: key,
        uniqueKeyPolicy: { uniqueKeys: Array.from({ length: 11 }, (_, n) => ({ paths: [`/p${n}`] })) },
      },
      "throughput below the minimum": { partitionKey: key, throughput: 100 },
      "throughput not a multiple of 100": { partitionKey: key, throughput: 450 },
      "autoscale maximum not a multiple of 1000": { partitionKey: key, maxThroughput: 4100 },
    };
    for (const [what, definition] of Object.entries(bad)) {
      const id = unique("bad");
      await refuses(400, () => database.containers.create({ id, ...definition })).catch((error) => {
        throw new Error(`${what}: ${error.message}`);
      });
      await refuses(404, () => database.container(id).read());
    }
    await refuses(404, () => client.database(unique("none")).containers.create({ id: "c", partitionKey: "/pk" }));
  });

  test("a taken id is refused", async () => {
    const { container } = await database.containers.create({ id: unique("c"), partitionKey: "/pk" });
    await refuses(409, () => database.containers.create({ id: container.id, partitionKey: "/pk" }));
  });

  test("a container created anew under the same id is another one", async () => {
    const id = unique("again");
    const first = await database.containers.create({ id, partitionKey: "/pk" });
    await first.container.items.create({ id: "a", pk: 1 });
    await first.container.delete();
    const second = await database.containers.create({ id, partitionKey: "/pk" });
    assert.notEqual(second.resource._rid, first.resource._rid);
    assert.equal((await second.container.item("a", 1).read()).statusCode, 404);
    assert.deepEqual(await allItems(second.container), []);
  });
});

describe("physical partitions", () => {
  async function rangesOf(container) {
    const { resources } = await container.readPartitionKeyRanges().fetchAll();
    return resources;
  }

  test("a small container has one", async () => {
    const { container } = await database.containers.create({ id: unique("c"), partitionKey: "/pk" });
    const ranges = await rangesOf(container);
    assert.deepEqual(
      ranges.map(({ id, minInclusive, maxExclusive, parents }) => ({ id, minInclusive, maxExclusive, parents })),
      [{ id: "0", minInclusive: "", maxExclusive: "FF", parents: [] }],
    );
    assert.equal((await container.getFeedRanges()).length, 1);
  });

  test("25,000 RU/s have three that tile the key space", async () => {
    const { container } = await database.containers.create({
      id: unique("c"),
      partitionKey: { paths: ["/pk"], kind: PartitionKeyKind.Hash, version: PartitionKeyDefinitionVersion.V2 },
      throughput: 25000,
    });
    const ranges = await rangesOf(container);
    assert.equal(ranges.length, 3);
    ranges.sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
    assert.equal(ranges[0].minInclusive, "");
    assert.equal(ranges[2].maxExclusive, "FF");
    for (let n = 1; n < 3; n += 1) {
      assert.equal(ranges[n].minInclusive, ranges[n - 1].maxExclusive);
      assert.match(ranges[n].minInclusive, /^[0-9A-F]{32}$/);
    }
    assert.equal(new Set(ranges.map(({ id }) => id)).size, 3);
    assert.equal((await container.getFeedRanges()).length, 3);

    // Items land on all three, each findable by its key and in the feed once.
    const keys = Array.from({ length: 60 }, (_, n) => `key-${n}`);
    const served = new Set();
    for (const pk of keys) {
      const { headers } = await container.items.create({ id: "same", pk });
      served.add(headers["x-ms-documentdb-partitionkeyrangeid"]);
      assert.equal(headers["x-ms-session-token"].split(":")[0], headers["x-ms-documentdb-partitionkeyrangeid"]);
    }
    assert.deepEqual([...served].sort(), ranges.map(({ id }) => id).sort());
    for (const pk of keys) assert.equal((await container.item("same", pk).read()).resource.pk, pk);
    const resources = await allItems(container, { maxItemCount: 7 });
    assert.deepEqual(resources.map(({ pk }) => pk).sort(), [...keys].sort());
  });

  test("hierarchical keys on several partitions", async () => {
    const { container, resource } = await database.containers.create({
      id: unique("c"),
      partitionKey: { paths: ["/tenant", "/user", "/session"], kind: PartitionKeyKind.MultiHash, version: 2 },
      throughput: 25000,
    });
    assert.deepEqual(resource.partitionKey, { paths: ["/tenant", "/user", "/session"], kind: "MultiHash", version: 2 });
    const items = [];
    for (let tenant = 0; tenant < 4; tenant += 1) {
      for (let user = 0; user < 3; user += 1) {
        items.push({ id: "one", tenant: `t${tenant}`, user, session: user === 0 ? null : `s${user}` });
      }
    }
    for (const item of items) assert.equal((await container.items.create(item)).statusCode, 201);
    for (const item of items) {
      const { resource: read } = await container.item("one", [item.tenant, item.user, item.session]).read();
      assert.deepEqual(withoutSystem(read), item);
    }
    assert.equal((await container.item("one", ["t0", 1, "other"]).read()).statusCode, 404);
    await refuses(400, () => container.item("one", ["t0", 1]).read());
    const { resource: replaced } = await container.item("one", ["t1", 1, "s1"]).replace({ ...items[4], extra: true });
    assert.equal(replaced.extra, true);
    assert.equal((await container.item("one", ["t1", 1, "s1"]).delete()).statusCode, 204);
    const resources = await allItems(container);
    assert.equal(resources.length, items.length - 1);
  });
});

describe("offers", () => {
  test("a container has the throughput it was given", async () => {
    const { container, resource } = await database.containers.create({ id: unique("c"), partitionKey: "/pk", throughput: 700 });
    const [offer, ...more] = await offerOf(container);
    assert.deepEqual(more, []);
    assert.equal(offer.offerVersion, "V2");
    assert.equal(offer.resource, resource._self);
    assert.equal(offer.content.offerThroughput, 700);
    assert.equal(offer.id, offer._rid);
    assert.equal(offer._self, `offers/${offer._rid}/`);
    const read = await client.offer(offer.id).read();
    assert.equal(read.statusCode, 200);
    assert.deepEqual(read.resource, offer);
  });

  test("400 RU/s unless told otherwise", async () => {
    const { container } = await database.containers.create({ id: unique("c"), partitionKey: "/pk" });
    const [offer] = await offerOf(container);
    assert.equal(offer.content.offerThroughput, 400);
  });

  test("replace changes the throughput", async () => {
    const { container } = await database.containers.create({ id: unique("c"), partitionKey: "/pk", throughput: 400 });
    const [offer] = await offerOf(container);
    offer.content.offerThroughput = 900;
    const { resource, statusCode } = await client.offer(offer.id).replace(offer);
    assert.equal(statusCode, 200);
    assert.equal(resource.content.offerThroughput, 900);
    assert.equal((await client.offer(offer.id).read()).resource.content.offerThroughput, 900);

    for (const throughput of [0, 100, 950, -400, 1.5]) {
      offer.content.offerThroughput = throughput;
      await refuses(400, () => client.offer(offer.id).replace(offer));
    }
    assert.equal((await client.offer(offer.id).read()).resource.content.offerThroughput, 900);
  });

  test("autoscale keeps its maximum", async () => {
    const { container } = await database.containers.create({ id: unique("c"), partitionKey: "/pk", maxThroughput: 4000 });
    const [offer] = await offerOf(container);
    assert.equal(offer.content.offerAutopilotSettings.maxThroughput, 4000);
  });

  test("containers of a database with its own throughput share it", async () => {
    const { database: shared, resource } = await client.databases.create({ id: unique("shared"), throughput: 600 });
    const { resources } = await client.offers.readAll().fetchAll();
    const [offer] = resources.filter(({ offerResourceId }) => offerResourceId === resource._rid);
    assert.equal(offer.resource, resource._self);
    assert.equal(offer.content.offerThroughput, 600);
    const { container } = await shared.containers.create({ id: "c", partitionKey: "/pk" });
    assert.deepEqual(await offerOf(container), []);
    const dedicated = await shared.containers.create({ id: "d", partitionKey: "/pk", throughput: 500 });
    assert.equal((await offerOf(dedicated.container))[0].content.offerThroughput, 500);
    await shared.delete();
  });

  test("go with their container", async () => {
    const { container } = await database.containers.create({ id: unique("c"), partitionKey: "/pk" });
    const [offer] = await offerOf(container);
    await container.delete();
    await refuses(404, () => client.offer(offer.id).read());
  });
});
