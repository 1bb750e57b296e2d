// Time to live, unique keys, and the deletion of a partition key.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, refuses, temporaryDatabase, unique } from "../lib/account.mjs";

const client = connect();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

async function container(definition) {
  const key = { paths: ["/pk"], version: 2 };
  const body = { id: unique("c"), partitionKey: key, ...definition };
  return (await database.containers.create(body)).container;
}

/// Until the item's time is over.
async function end(item, ttl) {
  for (;;) {
    const left = (item._ts + ttl) * 1000 - Date.now();
    if (left <= 0) return;
    await sleep(left);
  }
}

async function count(from, text = "SELECT VALUE COUNT(1) FROM c") {
  return (await from.items.query(text).fetchAll()).resources[0];
}

describe("time to live", () => {
  test("items are gone in their second", async () => {
    const lived = await container({ defaultTtl: -1 });
    assert.equal((await lived.read()).resource.defaultTtl, -1);
    await lived.items.create({ id: "kept", pk: "k", n: 1 });
    const { resource } = await lived.items.create({ id: "short", pk: "k", n: 1, ttl: 2 });
    assert.equal(await count(lived), 2);
    await end(resource, 2);
    assert.equal((await lived.item("short", "k").read()).statusCode, 404);
    assert.equal(await count(lived), 1);
    assert.equal(await count(lived, "SELECT VALUE COUNT(1) FROM c WHERE c.n = 1"), 1);
    const all = (await lived.items.readAll().fetchAll()).resources;
    assert.deepEqual(all.map((item) => item.id), ["kept"]);
    await refuses(404, () => lived.item("short", "k").replace({ id: "short", pk: "k" }));
    assert.equal((await lived.items.create({ id: "short", pk: "k" })).statusCode, 201);
  });

  test("bad times", async () => {
    const lived = await container({ defaultTtl: 1000 });
    for (const ttl of [null, 0, -2, 1.5, "5"]) {
      await refuses(400, () => lived.items.create({ id: "bad", pk: "k", ttl }));
    }
    await refuses(400, () => container({ defaultTtl: 0 }));
  });
});

describe("unique keys", () => {
  test("every write is held to them", async () => {
    const policy = { uniqueKeys: [{ paths: ["/email"] }, { paths: ["/a/b", "/c"] }] };
    const people = await container({ uniqueKeyPolicy: policy });
    assert.deepEqual((await people.read()).resource.uniqueKeyPolicy, policy);
    await people.items.create({ id: "1", pk: "k", email: "a", a: { b: 1 } });
    await people.items.create({ id: "2", pk: "k", email: "b", a: { b: 2 } });
    const taken = { id: "3", pk: "k", email: "a", c: 1 };
    await refuses(409, () => people.items.create(taken));
    await refuses(409, () => people.items.upsert(taken));
    await refuses(409, () => people.item("2", "k").replace({ id: "2", pk: "k", email: "a" }));
    const patch = [{ op: "set", path: "/a/b", value: 1 }];
    await refuses(409, () => people.item("2", "k").patch(patch));
    await people.items.create({ ...taken, pk: "other" });
    const batch = await people.items.batch(
      [
        { operationType: "Delete", id: "1" },
        { operationType: "Create", resourceBody: taken },
      ],
      "k",
    );
    assert.deepEqual(batch.result.map((it) => it.statusCode), [204, 201]);
  });

  test("bad policies", async () => {
    for (const path of ["/a/*", "a", "/a/[]/b"]) {
      await refuses(400, () => container({ uniqueKeyPolicy: { uniqueKeys: [{ paths: [path] }] } }));
    }
  });
});

describe("delete by partition key", () => {
  test("all of a key go", async () => {
    const items = await container({});
    for (let number = 0; number < 120; number++) {
      await items.items.create({ id: `${number}`, pk: number % 10 ? "a" : "b" });
    }
    await items.deleteAllItemsForPartitionKey("a");
    assert.equal(await count(items), 12);
    assert.equal((await items.item("1", "a").read()).statusCode, 404);
    assert.equal((await items.item("0", "b").read()).statusCode, 200);
  });
});
