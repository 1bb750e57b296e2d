// Transactional batches and bulk requests.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { allItems, connect, temporaryDatabase, unique, withoutSystem } from "../lib/account.mjs";

const client = connect();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

async function container(options, definition = {}) {
  const created = await database.containers.create(
    { id: unique("c"), partitionKey: { paths: ["/pk"], version: 2 }, ...definition },
    options,
  );
  return created.container;
}

const statuses = (results) => results.map((result) => result.statusCode);

describe("batch", () => {
  test("all kinds in one transaction", async () => {
    const items = (await container()).items;
    const { result, code, requestCharge } = await items.batch(
      [
        { operationType: "Create", resourceBody: { id: "a", pk: "p", n: 1 } },
        { operationType: "Upsert", resourceBody: { id: "b", pk: "p" } },
        { operationType: "Replace", id: "a", resourceBody: { id: "a", pk: "p", n: 2 } },
        { operationType: "Patch", id: "a", resourceBody: { operations: [{ op: "incr", path: "/n", value: 3 }] } },
        { operationType: "Read", id: "a" },
        { operationType: "Delete", id: "b" },
      ],
      "p",
    );
    assert.equal(code, 200);
    assert.deepEqual(statuses(result), [201, 201, 200, 200, 200, 204]);
    assert.deepEqual(withoutSystem(result[4].resourceBody), { id: "a", pk: "p", n: 5 });
    assert.equal(result[4].eTag, result[4].resourceBody._etag);
    const sum = result.reduce((all, one) => all + one.requestCharge, 0);
    assert.ok(Math.abs((requestCharge ?? sum) - sum) < 0.01);
    assert.deepEqual(await allItems(items.container), [result[4].resourceBody]);
  });

  test("one failure undoes all", async () => {
    const items = (await container()).items;
    await items.create({ id: "a", pk: "p" });
    const { result, code } = await items.batch(
      [
        { operationType: "Create", partitionKey: "p", resourceBody: { id: "b", pk: "p" } },
        { operationType: "Create", partitionKey: "p", resourceBody: { id: "a", pk: "p" } },
        { operationType: "Delete", id: "a" },
      ],
      "p",
    );
    assert.equal(code, 207);
    assert.deepEqual(statuses(result), [424, 409, 424]);
    assert.equal((await allItems(items.container)).length, 1);
  });

  test("conditions", async () => {
    const items = (await container()).items;
    const { etag } = await items.create({ id: "a", pk: "p" });
    const replace = (ifMatch) => [{ operationType: "Replace", id: "a", ifMatch, resourceBody: { id: "a", pk: "p", n: 1 } }];
    assert.deepEqual(statuses((await items.batch(replace('"other"'), "p")).result), [412]);
    assert.deepEqual(statuses((await items.batch(replace(etag), "p")).result), [200]);
  });

  test("keys that operations name themselves", async () => {
    const items = (await container()).items;
    const operations = (partitionKey) => [
      { operationType: "Upsert", partitionKey, resourceBody: { id: "a", pk: "p" } },
      { operationType: "Read", id: "a", partitionKey },
    ];
    assert.deepEqual(statuses((await items.batch(operations("p"), "p")).result), [201, 200]);
    await assert.rejects(items.batch(operations("q"), "p"), /have a different partition key value than the request/);
  });

  test("keys of other kinds", async () => {
    const items = (await container()).items;
    for (const [key, member] of [[null, { pk: null }], [7, { pk: 7 }], [undefined, {}]]) {
      const operations = [
        { operationType: "Create", resourceBody: { id: "a", ...member } },
        { operationType: "Read", id: "a" },
      ];
      assert.deepEqual(statuses((await items.batch(operations, key)).result), [201, 200], String(key));
    }
  });
});

for (const [name, run] of [
  ["items.bulk", (items, operations) => items.bulk(operations)],
  [
    "items.executeBulkOperations",
    async (items, operations) => (await items.executeBulkOperations(operations)).map((one) => one.response ?? one.error),
  ],
]) {
  describe(name, () => {
    const code = (result) => Number(result.statusCode ?? result.code);

    test("operations of many keys and partitions", async () => {
      const items = (await container({ offerThroughput: 25000 })).items;
      const keys = Array.from({ length: 60 }, (_, i) => `key-${i}`);
      const made = await run(items, keys.map((pk) => ({ operationType: "Create", partitionKey: pk, resourceBody: { id: "a", pk, n: 1 } })));
      assert.deepEqual(made.map(code), keys.map(() => 201));
      assert.deepEqual(made.map((one) => one.resourceBody.pk), keys);
      const read = await run(items, keys.map((pk) => ({ operationType: "Read", id: "a", partitionKey: pk })));
      assert.deepEqual(read.map((one) => one.resourceBody), made.map((one) => one.resourceBody));
      const mixed = keys.map((pk, i) => [
        { operationType: "Upsert", partitionKey: pk, resourceBody: { id: "a", pk, n: 2 } },
        { operationType: "Replace", id: "a", partitionKey: pk, resourceBody: { id: "a", pk, n: 3 } },
        { operationType: "Patch", id: "a", partitionKey: pk, resourceBody: { operations: [{ op: "incr", path: "/n", value: 3 }] } },
        { operationType: "Delete", id: "a", partitionKey: pk },
      ][i % 4]);
      const changed = await run(items, mixed);
      assert.deepEqual(changed.map(code), keys.map((_, i) => [200, 200, 200, 204][i % 4]));
      const left = await allItems(items.container);
      assert.deepEqual(left.map((item) => item.n).sort(), keys.filter((_, i) => i % 4 < 3).map((_, i) => 2 + (i % 3)).sort());
    });

    test("each has its own fate", async () => {
      const items = (await container()).items;
      await items.create({ id: "a", pk: "p" });
      const results = await run(items, [
        { operationType: "Create", partitionKey: "p", resourceBody: { id: "a", pk: "p" } },
        { operationType: "Create", partitionKey: "p", resourceBody: { id: "b", pk: "p" } },
        { operationType: "Read", id: "nowhere", partitionKey: "p" },
        { operationType: "Read", id: "a", partitionKey: "p" },
      ]);
      assert.deepEqual(results.map(code), [409, 201, 404, 200]);
    });
  });
}

test("bulk leaves the rest alone if told to", async () => {
  const items = (await container()).items;
  const operations = [
    { operationType: "Create", resourceBody: { id: "", pk: 1, ttl: "x" }, partitionKey: "other" },
    { operationType: "Create", resourceBody: { id: "b", pk: "p" } },
  ];
  const results = await items.bulk(operations, { continueOnError: false });
  assert.deepEqual(statuses(results), [400, 424]);
  assert.deepEqual(await allItems(items.container), []);
});

test("bulk in a container whose ranges have been split", async () => {
  const items = (await container({ offerThroughput: 400 })).items;
  const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`);
  await items.bulk(keys.map((pk) => ({ operationType: "Create", resourceBody: { id: "a", pk } })));
  const { resource: offer } = await items.container.readOffer();
  await client.offer(offer.id).replace({ ...offer, content: { ...offer.content, offerThroughput: 25000 } });
  for (let turn = 0; turn < 50; turn++) {
    const results = await items.bulk(keys.map((pk) => ({ operationType: "Upsert", partitionKey: pk, resourceBody: { id: "a", pk, turn } })));
    assert.deepEqual(statuses(results), keys.map(() => 200));
  }
});
