// Pages of queries: their sizes, their tokens, and resuming from these elsewhere and later.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, pagesOf, refuses, temporaryDatabase } from "../lib/account.mjs";
import { by, canonical, createContainer, fill, rows, sample, sizes } from "../lib/queries.mjs";
import { Server } from "../lib/server.mjs";

const client = connect();
const documents = sample();
const numbers = documents.map(({ n }) => n);
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

/** Reads a query one page per iterator, each made from the token of the one before. */
async function resumed(container, query, options) {
  const pages = [];
  let continuationToken;
  do {
    const page = await container.items.query(query, { ...options, continuationToken }).fetchNext();
    pages.push(page.resources ?? []);
    // The SDK makes tokens beyond the end of a TOP.
    continuationToken = page.hasMoreResults ? page.continuationToken : undefined;
    assert.ok(pages.length < 200, `${query} does not end`);
  } while (continuationToken);
  return pages;
}

for (const [size, throughput] of sizes) {
  describe(`pages over ${size}`, () => {
    let items;

    before(async () => {
      items = await fill(await createContainer(database, { throughput }), documents);
    });

    test("hold what was asked for", async () => {
      for (const maxItemCount of [1, 3, 7, 39, 40, 41]) {
        const pages = await pagesOf(items.items.query("SELECT VALUE c.n FROM c", { maxItemCount }));
        assert.ok(pages.every((page) => page.length <= maxItemCount), `pages of ${maxItemCount}: ${pages.map(({ length }) => length)}`);
        assert.deepEqual(pages.flat().sort(by((n) => n)), numbers);
      }
      const sorted = await pagesOf(items.items.query("SELECT VALUE c.n FROM c ORDER BY c.n", { maxItemCount: 3 }));
      assert.ok(sorted.slice(0, -1).every((page) => page.length === 3));
      assert.deepEqual(sorted.flat(), numbers);
    });

    test("of no fixed size", async () => {
      // A page is of one partition.
      const pages = await pagesOf(items.items.query("SELECT VALUE c.n FROM c", { maxItemCount: -1 }));
      assert.ok(pages.length === (throughput > 10000 ? 3 : 1), pages.map(({ length }) => length).join());
      assert.deepEqual(pages.flat().sort(by((n) => n)), numbers);
      const onePartition = await items.items.query("SELECT VALUE c.n FROM c ORDER BY c.n", { maxItemCount: -1, partitionKey: "k1" }).fetchNext();
      assert.deepEqual(onePartition.resources, numbers.filter((n) => n % 7 === 1));
    });

    test("have the same order at every size", async () => {
      const whole = await rows(items, "SELECT VALUE c.n FROM c");
      for (const maxItemCount of [1, 2, 9]) {
        assert.deepEqual(await rows(items, "SELECT VALUE c.n FROM c", { maxItemCount }), whole);
        assert.deepEqual((await resumed(items, "SELECT VALUE c.n FROM c", { maxItemCount })).flat(), whole);
      }
    });

    test("resume across partitions", async () => {
      for (const maxItemCount of [1, 3, 16]) {
        for (const [query, expected] of [
          ["SELECT VALUE c.n FROM c WHERE c.m != 3", numbers.filter((n) => n % 5 !== 3)],
          ["SELECT VALUE c.n FROM c WHERE c.pk IN ('k1', 'k4', 'k6', 'none')", numbers.filter((n) => [1, 4, 6].includes(n % 7))],
          ["SELECT c.m, COUNT(1) AS k, AVG(c.n) AS a FROM c GROUP BY c.m", [0, 1, 2, 3, 4].map((m) => ({ m, k: 8, a: m + 17.5 }))],
          ["SELECT VALUE [c.n, t] FROM c JOIN t IN c.tags", documents.flatMap(({ n, tags }) => tags.map((t) => [n, t]))],
        ]) {
          const pages = await resumed(items, query, { maxItemCount });
          assert.ok(pages.every((page) => page.length <= maxItemCount));
          assert.deepEqual(pages.flat().map(canonical).sort(), expected.map(canonical).sort(), query);
        }
      }
    });

    test("resume within a partition key", async () => {
      const own = documents.filter(({ pk }) => pk === "k2");
      const last = [...own].reverse();
      for (const maxItemCount of [1, 3]) {
        const options = { maxItemCount, partitionKey: "k2" };
        for (const [query, expected] of [
          ["SELECT VALUE c.n FROM c", own.map(({ n }) => n)],
          ["SELECT VALUE c.n FROM c ORDER BY c.n DESC", last.map(({ n }) => n)],
          ["SELECT VALUE c.n FROM c ORDER BY c.even", [...own].sort(by(({ even }) => even)).map(({ n }) => n)],
          ["SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n", own.slice(0, 4).map(({ n }) => n)],
          ["SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 1 LIMIT 3", own.slice(1, 4).map(({ n }) => n)],
          ["SELECT DISTINCT VALUE c.even FROM c ORDER BY c.even", [false, true]],
          ["SELECT VALUE COUNT(1) FROM c", [own.length]],
          ["SELECT VALUE AVG(c.n) FROM c", [own.reduce((total, { n }) => total + n, 0) / own.length]],
        ]) {
          const pages = await resumed(items, query, options);
          assert.ok(pages.every((page) => page.length <= maxItemCount), query);
          assert.deepEqual(pages.flat(), expected, query);
        }
        const grouped = (await resumed(items, "SELECT c.m, COUNT(1) AS k FROM c GROUP BY c.m", options)).flat();
        assert.deepEqual(grouped.sort(by(({ m }) => m)).map(({ m }) => m), [0, 1, 2, 3, 4]);
        assert.equal(grouped.reduce((total, { k }) => total + k, 0), own.length);
      }
    });

    test("resume with the SDK's own tokens", async () => {
      for (const maxItemCount of [1, 4, 11]) {
        const options = { maxItemCount, enableQueryControl: true };
        const plain = await resumed(items, "SELECT VALUE c.n FROM c WHERE c.m < 4", options);
        assert.deepEqual(plain.flat().sort(by((n) => n)), numbers.filter((n) => n % 5 < 4), `pages of ${maxItemCount}`);
        for (const [query, expected] of [
          ["SELECT VALUE c.n FROM c ORDER BY c.n", numbers],
          ["SELECT VALUE c.n FROM c ORDER BY c.n DESC", [...numbers].reverse()],
          ["SELECT VALUE c.price FROM c WHERE c.m != 2 ORDER BY c.price", documents.filter(({ m }) => m !== 2).map(({ price }) => price).sort(by((price) => price))],
          // Its tokens travel in a header, which holds Latin-1 and no more.
          ["SELECT VALUE c.word FROM c WHERE c.word < 'h' ORDER BY c.word", documents.map(({ word }) => word).filter((word) => word < "h").sort()],
          ["SELECT TOP 9 VALUE c.n FROM c ORDER BY c.n", numbers.slice(0, 9)],
        ]) {
          const pages = await resumed(items, query, options);
          assert.ok(pages.every((page) => page.length <= maxItemCount), query);
          assert.deepEqual(pages.flat(), expected, `${query} — pages of ${maxItemCount}`);
        }
        // Every tie is met once, in both directions.
        for (const direction of ["ASC", "DESC"]) {
          const ties = (await resumed(items, `SELECT VALUE c.n FROM c ORDER BY c.m ${direction}`, options)).flat();
          assert.deepEqual([...ties].sort(by((n) => n)), numbers, `${direction} — pages of ${maxItemCount}`);
        }
      }
    });

    test("the async iterator and a reset", async () => {
      const iterator = items.items.query("SELECT VALUE c.n FROM c ORDER BY c.n", { maxItemCount: 6 });
      for (let round = 0; round < 2; round += 1) {
        const seen = [];
        for await (const { resources } of iterator.getAsyncIterator()) seen.push(...resources);
        assert.deepEqual(seen, numbers);
      }
      await iterator.fetchNext();
      iterator.reset();
      assert.deepEqual((await iterator.fetchAll()).resources, numbers);
    });

    test("documents come and go between pages", async () => {
      const own = await fill(await createContainer(database, { throughput }), documents);
      const query = "SELECT VALUE c.n FROM c ORDER BY c.n";
      const first = await own.items.query(query, { maxItemCount: 3, partitionKey: "k0" }).fetchNext();
      assert.deepEqual(first.resources, [0, 7, 14]);
      for (const n of [7, 14, 21]) await own.item(`i${n}`, "k0").delete();
      await own.items.create({ id: "early", pk: "k0", n: 3 });
      await own.items.create({ id: "late", pk: "k0", n: 29 });
      const { continuationToken } = first;
      const rest = await rows(own, query, { maxItemCount: 3, partitionKey: "k0", continuationToken });
      assert.deepEqual(rest, [28, 29, 35]);
    });

    test("tokens that do not fit are refused", async () => {
      const query = "SELECT VALUE c.n FROM c";
      const { continuationToken } = await items.items.query(query, { maxItemCount: 3 }).fetchNext();
      assert.ok(continuationToken.length < 1024);
      for (const bad of ["nonsense", "{}", `${continuationToken}x`, continuationToken.slice(0, -3)]) {
        await refuses(400, () => items.items.query(query, { continuationToken: bad }).fetchNext());
      }
      await refuses(400, () => items.items.query("SELECT VALUE c.m FROM c WHERE c.m > 2", { continuationToken }).fetchNext());
    });
  });
}

describe("tokens", () => {
  test("stay under a kilobyte whatever is sorted by", async () => {
    const texts = Array.from({ length: 10 }, (_, n) => `${"prefix ".repeat(400)}${String.fromCharCode(97 + (n >> 1))}`);
    const items = await fill(await createContainer(database), texts.map((text, n) => ({ id: `i${n}`, pk: "p", n, text })));
    for (const [query, expected] of [
      ["SELECT VALUE c.n FROM c ORDER BY c.text", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
      ["SELECT VALUE c.n FROM c ORDER BY c.text DESC", [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
      ["SELECT VALUE COUNT(1) FROM c GROUP BY c.text", [2, 2, 2, 2, 2]],
    ]) {
      const seen = [];
      let continuationToken;
      do {
        const page = await items.items.query(query, { partitionKey: "p", maxItemCount: 1, continuationToken }).fetchNext();
        seen.push(...page.resources);
        ({ continuationToken } = page);
        assert.ok((continuationToken ?? "").length < 1024, query);
        assert.ok(seen.length <= expected.length, query);
      } while (continuationToken);
      assert.deepEqual(seen, expected, query);
    }
  });
});

describe("pages of large items", () => {
  test("end before four megabytes", async () => {
    const items = await createContainer(database, { throughput: 30000 });
    const text = "x".repeat(700 * 1024);
    for (let n = 0; n < 14; n += 1) await items.items.create({ id: `i${n}`, pk: `k${n % 2}`, n, text });
    for (const options of [{}, { maxItemCount: 100 }, { maxItemCount: -1 }]) {
      const pages = await pagesOf(items.items.query("SELECT * FROM c", { ...options }));
      assert.ok(pages.every((page) => page.length <= 5), pages.map(({ length }) => length).join());
      assert.deepEqual(pages.flat().map(({ n }) => n).sort(by((n) => n)), Array.from({ length: 14 }, (_, n) => n));
    }
    const sorted = await pagesOf(items.items.query("SELECT * FROM c ORDER BY c.n DESC", { partitionKey: "k1", maxItemCount: -1 }));
    assert.ok(sorted.length > 1);
    assert.deepEqual(sorted.flat().map(({ n }) => n), [13, 11, 9, 7, 5, 3, 1]);
    const merged = await rows(items, "SELECT c.n, c.text FROM c ORDER BY c.n", { maxItemCount: 20 });
    assert.deepEqual(merged.map(({ n }) => n), Array.from({ length: 14 }, (_, n) => n));
    assert.deepEqual(await rows(items, "SELECT VALUE SUM(LENGTH(c.text)) FROM c"), [14 * text.length]);
    const small = await pagesOf(items.items.query("SELECT VALUE c.n FROM c", { maxItemCount: -1 }));
    assert.ok(small.length <= 3 && small.flat().length === 14);
  });
});

describe("a restart", () => {
  let server;

  before(async () => {
    server = await Server.create();
  });
  after(() => server.destroy());

  const there = () => connect({ endpoint: server.endpoint }).database("d").container("c");

  test("leaves data, indexes and tokens as they were", async () => {
    const { database: own } = await connect({ endpoint: server.endpoint }).databases.create({ id: "d" });
    await own.containers.create({ id: "c", partitionKey: "/pk", throughput: 30000 });
    await fill(there(), documents);
    const queries = [
      ["SELECT VALUE c.n FROM c", {}],
      ["SELECT VALUE c.n FROM c WHERE c.m < 3", {}],
      ["SELECT VALUE c.n FROM c ORDER BY c.n DESC", { partitionKey: "k1" }],
      ["SELECT VALUE c.n FROM c ORDER BY c.price", { enableQueryControl: true }],
      ["SELECT VALUE c.n FROM c WHERE c.n > 4", { enableQueryControl: true }],
    ];
    const before = [];
    for (const [query, options] of queries) {
      const whole = await rows(there(), query, { ...options, maxItemCount: 4 });
      const { resources, continuationToken } = await there().items.query(query, { ...options, maxItemCount: 4 }).fetchNext();
      assert.ok(continuationToken, query);
      before.push({ query, options, whole, resources, continuationToken });
    }
    await server.restart();
    for (const { query, options, whole, resources, continuationToken } of before) {
      const rest = await rows(there(), query, { ...options, maxItemCount: 4, continuationToken });
      assert.deepEqual([...resources, ...rest].sort(by((n) => n)), [...whole].sort(by((n) => n)), query);
      assert.deepEqual(await rows(there(), query, { ...options, maxItemCount: 4 }), whole, query);
    }
  });
});
