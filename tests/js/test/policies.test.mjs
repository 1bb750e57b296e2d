// Policies of containers that the server checks, conflicts, and clients with an old cache.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, pagesOf, refuses, temporaryDatabase, unique } from "../lib/account.mjs";

const client = connect();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

const embedding = { path: "/v", dataType: "float32", dimensions: 256, distanceFunction: "cosine" };

function definition(more) {
  return { id: unique("c"), partitionKey: { paths: ["/pk"] }, ...more };
}

describe("policies", () => {
  for (const [more, message] of [
    [{ vectorEmbeddingPolicy: { vectorEmbeddings: [{ ...embedding, dataType: "float33" }] } }, /invalid DataType:float33/],
    [{ vectorEmbeddingPolicy: { vectorEmbeddings: [{ ...embedding, dimensions: 8000 }] } }, /Dimensions:8000 which is more than/],
    [{ vectorEmbeddingPolicy: { vectorEmbeddings: [embedding] },
       indexingPolicy: { vectorIndexes: [{ path: "/v", type: "quantizedFlat", quantizationByteSize: 0 }] } },
     /QuantizationByteSize value :: 0 is out of range\. The allowed range is between 1 and 256\./],
    [{ indexingPolicy: { vectorIndexes: [{ path: "/v", type: "flat" }] } }, /not matching in Embedding's path/],
    [{ fullTextPolicy: { defaultLanguage: "xx-YY" } }, /unsupported language xx-YY\./],
    [{ fullTextPolicy: { defaultLanguage: "en-US" }, indexingPolicy: { fullTextIndexes: [{ path: "/t" }] } },
     /Full Text Index \/t does not match/],
    [{ conflictResolutionPolicy: { mode: "LastWriterWins", conflictResolutionPath: "/a/b" } }, /Invalid path '\/a\/b' for last writer wins/],
  ]) {
    test(`refused: ${message.source}`, async () => {
      const failure = await refuses(400, () => database.containers.create(definition(more)));
      assert.match(failure.message ?? failure.body.message, message);
    });
  }

  test("vectors stay, full text may change", async () => {
    const { container, resource } = await database.containers.create(definition({
      vectorEmbeddingPolicy: { vectorEmbeddings: [embedding] },
      fullTextPolicy: { defaultLanguage: "en-US", fullTextPaths: [{ path: "/t", language: "en-US" }] },
      indexingPolicy: { vectorIndexes: [{ path: "/v", type: "diskANN" }], fullTextIndexes: [{ path: "/t" }] },
    }));
    const fullTextPolicy = { defaultLanguage: "fr-FR", fullTextPaths: [{ path: "/u", language: "fr-FR" }] };
    const indexingPolicy = { ...resource.indexingPolicy, fullTextIndexes: [{ path: "/u" }] };
    const { resource: replaced } = await container.replace({ ...resource, fullTextPolicy, indexingPolicy });
    assert.deepEqual(replaced.fullTextPolicy, fullTextPolicy);
    assert.deepEqual(replaced.indexingPolicy.fullTextIndexes, [{ path: "/u" }]);
    assert.deepEqual(replaced.vectorEmbeddingPolicy, resource.vectorEmbeddingPolicy);
    const changed = { vectorEmbeddingPolicy: { vectorEmbeddings: [{ ...embedding, dimensions: 3 }] } };
    await refuses(400, () => container.replace({ ...replaced, ...changed }));
    await refuses(400, () => container.replace({ ...replaced, conflictResolutionPolicy: { mode: "Custom" } }));
  });

  test("unique keys stay", async () => {
    const uniqueKeyPolicy = { uniqueKeys: [{ paths: ["/u"] }] };
    const { container, resource } = await database.containers.create(definition({ uniqueKeyPolicy }));
    await refuses(400, () => container.replace({ ...resource, uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/w"] }] } }));
    assert.equal((await container.replace({ ...resource, defaultTtl: 5 })).resource.defaultTtl, 5);
  });
});

test("there are no conflicts", async () => {
  for (const throughput of [400, 25000]) {
    const { container } = await database.containers.create(definition({ throughput }));
    assert.deepEqual(await pagesOf(container.conflicts.readAll()).then((pages) => pages.flat()), []);
    assert.deepEqual((await container.conflicts.query("SELECT * FROM c").fetchAll()).resources, []);
    await refuses(404, () => container.conflict("none", "a").read());
    await refuses(404, () => container.conflict("none", "a").delete());
  }
});

describe("a client with an old cache", () => {
  test("goes on when a container was made again", async () => {
    const body = definition({ throughput: 400 });
    const { container } = await database.containers.create(body);
    for (let n = 0; n < 20; n++) await container.items.create({ id: `i${n}`, pk: `k${n}` });
    const query = "SELECT VALUE c.id FROM c ORDER BY c.id";
    assert.equal((await container.items.query(query).fetchAll()).resources.length, 20);
    const other = connect().database(database.id);
    await other.container(container.id).delete();
    assert.equal((await container.item("i1", "k1").read()).statusCode, 404);
    await other.containers.create(body);
    const { resource: made } = await container.items.create({ id: "new", pk: "k1" });
    assert.deepEqual((await container.item("new", "k1").read()).resource, made);
    assert.equal((await container.item("i1", "k1").read()).statusCode, 404);
    assert.deepEqual((await container.items.query(query).fetchAll()).resources, ["new"]);
    assert.deepEqual((await container.items.query(query, { partitionKey: "k1" }).fetchAll()).resources, ["new"]);
  });

  test("is told when the ranges it knows are gone", async () => {
    const body = definition({ throughput: 25000 });
    const { container } = await database.containers.create(body);
    for (let n = 0; n < 20; n++) await container.items.create({ id: `i${n}`, pk: `k${n}` });
    const query = "SELECT VALUE c.id FROM c ORDER BY c.id";
    assert.equal((await container.items.query(query).fetchAll()).resources.length, 20);
    const other = connect().database(database.id);
    await other.container(container.id).delete();
    await other.containers.create({ ...body, throughput: 400 });
    await container.items.create({ id: "new", pk: "k1" });
    // It keeps its ranges as long as it lives, and would ask for ever if it were told to ask again.
    await refuses(404, () => container.items.query(query).fetchAll());
    assert.deepEqual((await container.items.query(query, { partitionKey: "k1" }).fetchAll()).resources, ["new"]);
    const fresh = connect().database(database.id).container(container.id);
    assert.deepEqual((await fresh.items.query(query).fetchAll()).resources, ["new"]);
  });

  test("goes on when a database was made again", async () => {
    const { database: twice } = await client.databases.create({ id: unique("d") });
    const { container } = await twice.containers.create({ id: "c", partitionKey: { paths: ["/pk"] } });
    await container.items.create({ id: "old", pk: "a" });
    const { resource: old } = await container.read();
    const other = connect();
    await other.database(twice.id).delete();
    await other.databases.create({ id: twice.id });
    await refuses(404, () => container.items.create({ id: "x", pk: "a" }));
    await other.database(twice.id).containers.create({ id: "c", partitionKey: { paths: ["/pk"] } });
    await container.items.create({ id: "new", pk: "a" });
    const { resources } = await container.items.query("SELECT VALUE c.id FROM c").fetchAll();
    assert.deepEqual(resources, ["new"]);
    assert.notEqual((await container.read()).resource._rid, old._rid);
    await twice.delete();
  });
});
