// The change feed of all versions and deletes.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  ChangeFeedMode,
  ChangeFeedPolicy,
  ChangeFeedRetentionTimeSpan,
  ChangeFeedStartFrom,
} from "@azure/cosmos";
import { refuses, temporaryDatabase, unique } from "../lib/account.mjs";
import { sizes } from "../lib/queries.mjs";
import { reshape } from "../lib/reshape.mjs";

const all = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes };
const from = (changeFeedStartFrom) => ({ ...all, changeFeedStartFrom });

async function rest(iterator) {
  const changes = [];
  for (;;) {
    const page = await iterator.readNext();
    if (page.statusCode === 304) return changes;
    changes.push(...page.result);
  }
}

const of = ({ current, previous, metadata }) => [metadata.operationType, previous?.n, current?.n];

describe("all versions and deletes", () => {
  let database;

  before(async () => { database = await temporaryDatabase(); });
  after(() => database.delete());

  async function kept(throughput) {
    const { container } = await database.containers.create({
      id: unique("c"),
      partitionKey: { paths: ["/pk"], version: 2 },
      changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(5)),
      throughput,
    });
    return container;
  }

  for (const [size, throughput] of sizes) {
    test(`every version, ${size}`, async () => {
      const container = await kept(throughput);
      const iterator = container.items.getChangeFeedIterator({ ...from(ChangeFeedStartFrom.Now()), maxItemCount: 2 });
      const page = await iterator.readNext();
      assert.equal(page.statusCode, 304);
      await container.items.create({ id: "a", pk: "x", n: 1 });
      await container.items.upsert({ id: "a", pk: "x", n: 2 });
      await container.item("a", "x").delete();
      await container.items.create({ id: "b", pk: "y", n: 3 });
      const changes = await rest(iterator);
      assert.deepEqual(changes.filter((it) => (it.current.pk ?? it.previous.pk) === "x").map(of), [
        ["create", undefined, 1], ["replace", undefined, 2], ["delete", 2, undefined],
      ]);
      assert.equal(changes.length, 4);
      const deleted = changes.find(({ metadata }) => metadata.operationType === "delete");
      assert.deepEqual([deleted.metadata.id, deleted.metadata.partitionKey], ["a", { pk: "x" }]);
      const again = container.items.getChangeFeedIterator(from(ChangeFeedStartFrom.Continuation(page.continuationToken)));
      assert.equal((await rest(again)).length, 4);
    });
  }

  test("by key and by feed range, through a split", async () => {
    const container = await kept(400);
    const byKey = container.items.getChangeFeedIterator(from(ChangeFeedStartFrom.Now("k1")));
    const [range] = await container.getFeedRanges();
    const byRange = container.items.getChangeFeedIterator(from(ChangeFeedStartFrom.Now(range)));
    await byKey.readNext();
    await byRange.readNext();
    for (let n = 0; n < 10; n += 1) await container.items.create({ id: `d${n}`, pk: `k${n % 5}`, n });
    await reshape(container, "split", "0");
    for (let n = 0; n < 10; n += 1) await container.item(`d${n}`, `k${n % 5}`).delete();
    assert.deepEqual((await rest(byKey)).map(of), [
      ["create", undefined, 1], ["create", undefined, 6], ["delete", 1, undefined], ["delete", 6, undefined],
    ]);
    assert.equal((await rest(byRange)).length, 20);
  });

  test("a container that does not keep them", async () => {
    const { container } = await database.containers.create({ id: unique("c"), partitionKey: { paths: ["/pk"] } });
    await refuses(400, () => rest(container.items.getChangeFeedIterator(from(ChangeFeedStartFrom.Now()))));
  });
});
