// The change feed: from where, over what, in which pages, and splits meanwhile.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  ChangeFeedStartFrom,
  CosmosClient,
  PartitionKeyKind,
  PartitionKeyDefinitionVersion,
} from "@azure/cosmos";
import { connect, key, temporaryDatabase, unique } from "../lib/account.mjs";
import { Server } from "../lib/server.mjs";
import { sizes } from "../lib/queries.mjs";
import { reshape, rangeIds } from "../lib/reshape.mjs";

/** Reads until nothing is new; returns the items and where to go on. */
async function follow(container, options) {
  const iterator = container.items.getChangeFeedIterator(options);
  const items = [];
  for (let pages = 0; ; pages += 1) {
    assert.ok(pages < 1000, "the feed does not end");
    const page = await iterator.readNext();
    if (page.statusCode === 304) return { items, continuation: page.continuationToken };
    assert.equal(page.statusCode, 200);
    assert.ok(page.result.length > 0);
    assert.ok(!options.maxItemCount || page.result.length <= options.maxItemCount);
    items.push(...page.result);
  }
}

const ids = (items) => items.map(({ id }) => id);
const sorted = (items) => ids(items).sort();
const beginning = { changeFeedStartFrom: ChangeFeedStartFrom.Beginning() };
const numbers = (count) => Array.from({ length: count }, (_, n) => n);
const names = (list) => list.map((n) => `d${n}`);

describe("the change feed", () => {
  let database;

  before(async () => { database = await temporaryDatabase(); });
  after(() => database.delete());

  async function filled(throughput, count = 40) {
    const definition = { id: unique("c"), partitionKey: { paths: ["/pk"], version: 2 }, throughput };
    const { container } = await database.containers.create(definition);
    for (const n of numbers(count)) await container.items.create({ id: `d${n}`, pk: `k${n % 7}`, n });
    return container;
  }

  for (const [size, throughput] of sizes) {
    describe(size, () => {
      let container;

      before(async () => { container = await filled(throughput); });

      test("from the beginning, and on", async () => {
        const own = await filled(throughput);
        for (const maxItemCount of [1, 6, 100]) {
          const { items } = await follow(own, { ...beginning, maxItemCount });
          assert.deepEqual(sorted(items), names(numbers(40)).sort());
          assert.ok(items.every((item) => item._lsn > 0));
        }
        const { continuation } = await follow(own, beginning);
        await own.items.upsert({ id: "d3", pk: "k3", n: 100 });
        await own.item("d4", "k4").delete();
        await own.items.create({ id: "new", pk: "k1" });
        const changeFeedStartFrom = ChangeFeedStartFrom.Continuation(continuation);
        const { items } = await follow(own, { changeFeedStartFrom });
        assert.deepEqual(sorted(items), ["d3", "new"]);
      });

      test("going on after each page", async () => {
        let options = { ...beginning, maxItemCount: 5 };
        const seen = [];
        for (;;) {
          const page = await container.items.getChangeFeedIterator(options).readNext();
          if (page.statusCode === 304) break;
          seen.push(...page.result);
          options = { ...options, changeFeedStartFrom: ChangeFeedStartFrom.Continuation(page.continuationToken) };
        }
        assert.deepEqual(sorted(seen), names(numbers(40)).sort());
      });

      test("from now", async () => {
        const own = await filled(throughput, 10);
        const iterator = own.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Now() });
        assert.equal((await iterator.readNext()).statusCode, 304);
        await own.items.create({ id: "later", pk: "k1" });
        assert.deepEqual(ids((await iterator.readNext()).result), ["later"]);
        assert.equal((await iterator.readNext()).statusCode, 304);
      });

      test("from a time", async () => {
        const { resource } = await container.item("d0", "k0").read();
        const at = (seconds) => ({ changeFeedStartFrom: ChangeFeedStartFrom.Time(new Date(seconds * 1000)) });
        assert.equal((await follow(container, { ...at(resource._ts - 1), maxItemCount: 7 })).items.length, 40);
        assert.equal((await follow(container, at(resource._ts + 100))).items.length, 0);
        assert.equal((await follow(container, at(resource._ts + 86400))).items.length, 0);
      });

      test("by partition key", async () => {
        for (const n of numbers(7)) {
          const changeFeedStartFrom = ChangeFeedStartFrom.Beginning(`k${n}`);
          const { items } = await follow(container, { changeFeedStartFrom, maxItemCount: 2 });
          assert.deepEqual(ids(items), names(numbers(40).filter((it) => it % 7 === n)));
        }
        const { continuation } = await follow(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning("k2") });
        const changeFeedStartFrom = ChangeFeedStartFrom.Continuation(continuation);
        assert.deepEqual((await follow(container, { changeFeedStartFrom })).items, []);
      });

      test("by feed range", async () => {
        const seen = [];
        for (const range of await container.getFeedRanges()) {
          const { items } = await follow(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range) });
          seen.push(...items);
        }
        assert.deepEqual(sorted(seen), names(numbers(40)).sort());
      });
    });
  }

  test("prefixes of hierarchical keys", async () => {
    const { container } = await database.containers.create({
      id: unique("c"),
      partitionKey: { paths: ["/t", "/u"], kind: PartitionKeyKind.MultiHash, version: PartitionKeyDefinitionVersion.V2 },
    });
    for (const n of numbers(24)) await container.items.create({ id: `d${n}`, t: `t${n % 3}`, u: `u${n % 4}` });
    for (const [prefix, admits] of [[["t1"], (n) => n % 3 === 1], [["t1", "u2"], (n) => n % 3 === 1 && n % 4 === 2]]) {
      const { items } = await follow(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(prefix) });
      assert.deepEqual(ids(items), names(numbers(24).filter(admits)));
    }
  });

  test("splits and merges meanwhile", async () => {
    const container = await filled(400, 60);
    const iterator = container.items.getChangeFeedIterator({ ...beginning, maxItemCount: 7 });
    const seen = [...(await iterator.readNext()).result];
    await reshape(container, "split", "0");
    const page = await iterator.readNext();
    seen.push(...page.result);
    await reshape(container, "split", (await rangeIds(container))[0]);
    for (;;) {
      const next = await iterator.readNext();
      if (next.statusCode === 304) break;
      seen.push(...next.result);
    }
    assert.deepEqual(sorted(seen), names(numbers(60)).sort());
    await container.items.create({ id: "before", pk: "k0" });
    await reshape(container, "merge", (await rangeIds(container))[0]);
    await container.items.create({ id: "behind", pk: "k0" });
    const rest = [];
    for (;;) {
      const next = await iterator.readNext();
      if (next.statusCode === 304) break;
      rest.push(...next.result);
    }
    assert.deepEqual(ids(rest), ["before", "behind"]);
    // By a client that knows nothing of it yet, with a token of before.
    const other = connect().database(database.id).container(container.id);
    const changeFeedStartFrom = ChangeFeedStartFrom.Continuation(page.continuationToken);
    const { items } = await follow(other, { changeFeedStartFrom, maxItemCount: 9 });
    assert.deepEqual([...ids(seen.slice(0, 14)), ...ids(items)].sort(), [...names(numbers(60)), "before", "behind"].sort());
  });

  test("a token of another container", async () => {
    const [one, other] = [await filled(400, 3), await filled(400, 3)];
    const { continuation } = await follow(one, beginning);
    const changeFeedStartFrom = ChangeFeedStartFrom.Continuation(continuation);
    await assert.rejects(() => follow(other, { changeFeedStartFrom }), /not for the current container/);
  });

  test("a new life of the server between pages", async () => {
    const server = await Server.create();
    try {
      const open = () => new CosmosClient({ endpoint: server.endpoint, key });
      const { database: own } = await open().databases.create({ id: "d" });
      const { container } = await own.containers.create({ id: "c", partitionKey: { paths: ["/pk"], version: 2 } });
      for (const n of numbers(20)) await container.items.create({ id: `d${n}`, pk: `k${n % 3}` });
      const page = await container.items.getChangeFeedIterator({ ...beginning, maxItemCount: 8 }).readNext();
      await server.restart();
      const again = open().database("d").container("c");
      const changeFeedStartFrom = ChangeFeedStartFrom.Continuation(page.continuationToken);
      const { items } = await follow(again, { changeFeedStartFrom, maxItemCount: 8 });
      assert.deepEqual(sorted([...page.result, ...items]), names(numbers(20)).sort());
    } finally {
      await server.destroy();
    }
  });
});
