// What the index serves: mixed types, composites, computed properties, shapes, and its metrics.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, temporaryDatabase } from "../lib/account.mjs";
import { by, createContainer, fill, rows, runs, sample, sizes } from "../lib/queries.mjs";

const client = connect();
const documents = sample();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

describe("values of mixed types", () => {
  // In ascending order; `undefined` comes before all of them.
  const values = [null, false, true, -1e300, -1.5, -0.5, 0, 1, 2.25, 9007199254740991, 1e300, "", "10", "A", "Z", "a", "ab", "größe", "数", "🦀"];
  let explicit;
  let wildcard;

  before(async () => {
    const indexingPolicy = { includedPaths: [{ path: "/*" }, { path: "/v/?" }] };
    explicit = await createContainer(database, { indexingPolicy });
    wildcard = await createContainer(database);
    const mixed = values.map((v, at) => ({ id: `i${at}`, pk: "p", v })).sort(by(({ id }) => `${id.length % 3}${id}`));
    for (const items of [explicit, wildcard]) {
      await fill(items, [{ id: "none", pk: "p" }, ...mixed, { id: "list", pk: "p", v: [1] }, { id: "object", pk: "p", v: { x: 1 } }]);
    }
  });

  test("have one order", async () => {
    for (const options of [{}, { maxItemCount: 1 }, { maxItemCount: 3 }]) {
      const keyed = { ...options, partitionKey: "p" };
      const ascending = await rows(explicit, "SELECT c.id, c.v FROM c ORDER BY c.v", keyed);
      assert.deepEqual(ascending.map(({ id }) => id), ["none", ...values.map((_, at) => `i${at}`), "list", "object"]);
      const descending = await rows(explicit, "SELECT c.id, c.v FROM c ORDER BY c.v DESC", keyed);
      assert.deepEqual(descending, ascending.toReversed());
      const covered = await rows(wildcard, "SELECT VALUE c.id FROM c ORDER BY c.v DESC", keyed);
      assert.deepEqual(covered, descending.map(({ id }) => id));
    }
  });

  test("compare within their type only", async () => {
    const filters = [
      ["c.v > 0", (v) => typeof v === "number" && v > 0],
      ["c.v <= 0", (v) => typeof v === "number" && v <= 0],
      ["c.v >= 'a'", (v) => typeof v === "string" && v >= "a"],
      ["c.v < 'Z'", (v) => typeof v === "string" && v < "Z"],
      ["c.v >= false", (v) => typeof v === "boolean"],
      ["c.v = null", (v) => v === null],
      ["c.v != 1", (v) => v !== 1],
      ["IS_NUMBER(c.v) AND c.v < 0", (v) => v < 0],
      ["IS_STRING(c.v)", (v) => typeof v === "string"],
      ["IS_BOOL(c.v) OR IS_NULL(c.v)", (v) => v === null || typeof v === "boolean"],
      ["c.v IN (1, 'a', null, true)", (v) => [1, "a", null, true].includes(v)],
      ["STARTSWITH(c.v, 'a')", (v) => typeof v === "string" && v.startsWith("a")],
    ];
    for (const [filter, keeps] of filters) {
      await runs(explicit, `SELECT VALUE c.id FROM c WHERE IS_PRIMITIVE(c.v) AND (${filter})`,
        values.flatMap((v, at) => (keeps(v) ? [`i${at}`] : [])));
    }
    await runs(explicit, "SELECT VALUE c.id FROM c WHERE IS_ARRAY(c.v) OR c.v = {x: 1} OR NOT IS_DEFINED(c.v)", ["list", "object", "none"]);
  });

  test("have extremes, but no sum", async () => {
    const query = (aggregate, filter = "true") => rows(explicit, `SELECT VALUE ${aggregate} FROM c WHERE ${filter}`, { partitionKey: "p" });
    assert.deepEqual(await query("MIN(c.v)", "IS_PRIMITIVE(c.v)"), [null]);
    assert.deepEqual(await query("MAX(c.v)", "IS_PRIMITIVE(c.v)"), ["🦀"]);
    assert.deepEqual(await query("MIN(c.v)"), []);
    assert.deepEqual(await query("MAX(c.v)"), []);
    assert.deepEqual(await query("SUM(c.v)"), []);
    assert.deepEqual(await query("AVG(c.v)"), []);
    assert.deepEqual(await query("COUNT(c.v)"), [values.length + 2]);
    assert.deepEqual(await query("SUM(c.v)", "IS_NUMBER(c.v) AND c.v > -1 AND c.v < 3"), [2.75]);
  });

  test("are told apart by DISTINCT and GROUP BY", async () => {
    const items = await createContainer(database);
    const odd = [0, "0", false, null, "", [], {}, 1, 1, "1", true, [1], [1], { a: 1, b: 2 }, { b: 2, a: 1 }];
    await fill(items, odd.map((v, at) => ({ id: `i${at}`, pk: "p", v })));
    const options = { partitionKey: "p" };
    assert.equal((await rows(items, "SELECT DISTINCT VALUE c.v FROM c", options)).length, 12);
    const groups = await rows(items, "SELECT c.v, COUNT(1) AS k FROM c GROUP BY c.v", options);
    assert.equal(groups.length, 12);
    assert.deepEqual(groups.filter(({ k }) => k === 2).length, 3);
  });
});

describe("long strings", () => {
  test("differ at their ends", async () => {
    const items = await createContainer(database);
    const same = "prefix ".repeat(300);
    const ends = ["", "a", "aa", "b", "größe", "🦀", "🦀🦀"];
    await fill(items, ends.map((end, n) => ({ id: `i${n}`, pk: `k${n % 2}`, n, text: same + end })).reverse());
    for (const [n, end] of ends.entries()) {
      const query = (text) => ({ query: text, parameters: [{ name: "@text", value: same + end }] });
      await runs(items, query("SELECT VALUE c.n FROM c WHERE c.text = @text"), [n]);
      await runs(items, query("SELECT VALUE c.n FROM c WHERE c.text > @text"), ends.flatMap((_, at) => (at > n ? [at] : [])));
      await runs(items, query("SELECT VALUE c.n FROM c WHERE STARTSWITH(c.text, @text)"),
        ends.flatMap((other, at) => (other.startsWith(end) ? [at] : [])));
    }
    const order = [0, 1, 2, 3, 4, 5, 6];
    await runs(items, "SELECT VALUE c.n FROM c ORDER BY c.text", order, { ordered: true });
    await runs(items, "SELECT VALUE c.n FROM c ORDER BY c.text DESC", order.reverse(), { ordered: true });
    await runs(items, "SELECT VALUE COUNT(1) FROM c GROUP BY c.text", ends.map(() => 1));
  });
});

for (const [size, throughput] of sizes) {
  describe(`the index of ${size}`, () => {
    test("follows every write", async () => {
      const items = await createContainer(database, { throughput });
      const state = new Map();
      const check = async () => {
        const all = [...state.values()];
        await runs(items, "SELECT VALUE c.n FROM c WHERE c.color = 'red'", all.filter(({ color }) => color === "red").map(({ n }) => n));
        await runs(items, "SELECT VALUE c.n FROM c ORDER BY c.n DESC", all.map(({ n }) => n).sort(by((n) => -n)), { ordered: true });
        await runs(items, "SELECT VALUE COUNT(c.extra) FROM c", [all.filter(({ extra }) => extra).length]);
      };
      await check();
      for (let n = 0; n < 12; n += 1) {
        const document = { id: `i${n}`, pk: `k${n % 4}`, n, color: n % 2 ? "red" : "blue", extra: [n] };
        state.set(document.id, document);
        await items.items.create(document);
      }
      await check();
      for (let n = 0; n < 12; n += 3) {
        const document = { id: `i${n}`, pk: `k${n % 4}`, n: n + 100, color: "red" };
        state.set(document.id, document);
        await items.item(document.id, document.pk).replace(document);
      }
      await check();
      for (let n = 1; n < 12; n += 4) {
        const document = { id: `i${n}`, pk: `k${n % 4}`, n: -n, color: ["red"], extra: true };
        state.set(document.id, document);
        await items.items.upsert(document);
      }
      await check();
      for (let n = 0; n < 12; n += 2) {
        state.delete(`i${n}`);
        await items.item(`i${n}`, `k${n % 4}`).delete();
      }
      await check();
    });

    test("may be replaced while there is data", async () => {
      const items = await fill(await createContainer(database, { throughput }), documents);
      const { resource: definition } = await items.read();
      definition.indexingPolicy.compositeIndexes = [[{ path: "/m", order: "ascending" }, { path: "/n", order: "ascending" }]];
      definition.indexingPolicy.excludedPaths.push({ path: "/price/?" });
      await items.replace(definition);
      const expected = [...documents].sort((left, right) => left.m - right.m || left.n - right.n).map(({ n }) => n);
      const deadline = Date.now() + 20_000;
      for (;;) {
        const { resource } = await items.read({ populateQuotaInfo: true });
        assert.ok(resource);
        try {
          assert.deepEqual(await rows(items, "SELECT VALUE c.n FROM c ORDER BY c.m, c.n"), expected);
          break;
        } catch (error) {
          // The new index serves once it is built.
          if (error.code !== 400 || Date.now() > deadline) throw error;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
      await runs(items, "SELECT VALUE c.n FROM c WHERE c.price > 20", documents.filter(({ price }) => price > 20).map(({ n }) => n));
    });

    test("gives the same answers as no index", async () => {
      const bare = { indexingMode: "none", automatic: false, includedPaths: [], excludedPaths: [] };
      const [indexed, unindexed] = await Promise.all([undefined, bare].map(async (indexingPolicy) =>
        fill(await createContainer(database, { throughput, indexingPolicy }), documents)));
      for (const filter of [
        "c.n > 13 AND c.word >= 'b'", "c.tags[1] = 't3'", "c.opt > 50 OR c.even", "c.place.city = 'Lima' AND c.m IN (1, 4)",
        "NOT (c.n < 20)", "ARRAY_CONTAINS(c.tags, 't2') AND c.price BETWEEN 5 AND 25",
      ]) {
        const query = `SELECT VALUE c.n FROM c WHERE ${filter}`;
        const [one, other] = await Promise.all([indexed, unindexed].map((items) => rows(items, query, { enableScanInQuery: true })));
        assert.deepEqual(one.sort(by((n) => n)), other.sort(by((n) => n)), filter);
        assert.ok(one.length > 0, filter);
      }
    });

    test("computed properties", async () => {
      const items = await fill(await createContainer(database, {
        throughput,
        computedProperties: [
          { name: "lowered", query: "SELECT VALUE LOWER(c.word) FROM c" },
          { name: "twice", query: "SELECT VALUE c.n * 2 FROM c" },
        ],
        indexingPolicy: { includedPaths: [{ path: "/*" }, { path: "/lowered/?" }, { path: "/twice/?" }] },
      }), documents);
      await runs(items, "SELECT VALUE c.n FROM c WHERE c.lowered = 'birne'", documents.filter(({ word }) => word === "Birne").map(({ n }) => n));
      await runs(items, "SELECT VALUE c.twice FROM c WHERE c.twice > 60 ORDER BY c.twice DESC", [78, 76, 74, 72, 70, 68, 66, 64, 62], { ordered: true });
      await runs(items, "SELECT c.lowered, COUNT(1) AS k FROM c WHERE c.n < 12 GROUP BY c.lowered",
        ["apple", "birne", "größe", "数据", "🦀 crab", "zebra"].map((lowered) => ({ lowered, k: 2 })));
      const [whole] = await rows(items, "SELECT * FROM c WHERE c.twice = 10");
      assert.equal(whole.n, 5);
      assert.ok(!("twice" in whole) && !("lowered" in whole));
    });

    test("shapes", async () => {
      const items = await fill(await createContainer(database, {
        throughput,
        indexingPolicy: { includedPaths: [{ path: "/*" }], spatialIndexes: [{ path: "/spot/*", types: ["Point", "Polygon"] }] },
      }), [
        ["oslo", 10.75, 59.91], ["bergen", 5.32, 60.39], ["lima", -77.04, -12.05], ["suva", 178.44, -18.14],
      ].map(([id, ...coordinates]) => ({ id, pk: id, spot: { type: "Point", coordinates } })));
      const near = (distance) => ({
        query: "SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c.spot, @from) < @distance",
        parameters: [{ name: "@from", value: { type: "Point", coordinates: [10.7, 59.9] } }, { name: "@distance", value: distance }],
      });
      await runs(items, near(10_000), ["oslo"]);
      await runs(items, near(400_000), ["oslo", "bergen"]);
      const norway = "{'type': 'Polygon', 'coordinates': [[[4, 58], [12, 58], [12, 62], [4, 62], [4, 58]]]}";
      await runs(items, `SELECT VALUE c.id FROM c WHERE ST_WITHIN(c.spot, ${norway})`, ["oslo", "bergen"]);
      await runs(items, `SELECT VALUE c.id FROM c WHERE ST_INTERSECTS(c.spot, ${norway}) AND c.id != 'oslo'`, ["bergen"]);
      const fiji = "{'type': 'Polygon', 'coordinates': [[[177, -20], [-179, -20], [-179, -16], [177, -16], [177, -20]]]}";
      await runs(items, `SELECT VALUE c.id FROM c WHERE ST_WITHIN(c.spot, ${fiji})`, ["suva"]);
      await runs(items, "SELECT VALUE ST_ISVALID(c.spot) FROM c WHERE c.id = 'lima'", [true]);
    });
  });

  describe(`metrics over ${size}`, () => {
    let items;

    before(async () => {
      const indexingPolicy = {
        includedPaths: [{ path: "/*" }],
        compositeIndexes: [[{ path: "/m", order: "ascending" }, { path: "/n", order: "ascending" }]],
      };
      items = await fill(await createContainer(database, { throughput, indexingPolicy }), documents);
    });

    test("of queries", async () => {
      const query = "SELECT * FROM c WHERE c.n >= 30";
      const { resources, queryMetrics, requestCharge } = await items.items.query(query, { populateQueryMetrics: true }).fetchAll();
      assert.equal(resources.length, 10);
      assert.ok(requestCharge > 0);
      const metrics = queryMetrics["0"];
      assert.equal(metrics.outputDocumentCount, 10);
      assert.equal(metrics.retrievedDocumentCount, 10);
      assert.ok(metrics.retrievedDocumentSize >= metrics.outputDocumentCount * 100);
      assert.ok(metrics.outputDocumentSize > 0);
      assert.equal(metrics.indexHitRatio, 1);
      assert.ok(metrics.totalQueryExecutionTime.totalMilliseconds() >= 0);
      assert.ok(metrics.queryPreparationTimes.queryCompilationTime.totalMilliseconds() >= 0);
      assert.equal(metrics.clientSideMetrics.requestCharge, requestCharge);
    });

    test("of planned queries, per partition", async () => {
      const { resources: ranges } = await items.readPartitionKeyRanges().fetchAll();
      const { queryMetrics } = await items.items.query("SELECT * FROM c ORDER BY c.n", { populateQueryMetrics: true, maxItemCount: 100 }).fetchAll();
      assert.deepEqual(Object.keys(queryMetrics).sort(), ranges.map(({ id }) => id).sort());
      const output = Object.values(queryMetrics).reduce((total, { outputDocumentCount }) => total + outputDocumentCount, 0);
      assert.equal(output, 40);
    });

    test("are absent unless asked for", async () => {
      const page = await items.items.query("SELECT * FROM c").fetchNext();
      assert.ok(!page.queryMetrics || Object.keys(page.queryMetrics).length === 0);
      assert.equal(page.indexMetrics, "{}");
    });

    test("of the index", async () => {
      const metricsOf = async (query, options = {}) => {
        const { indexMetrics } = await items.items.query(query, { populateIndexMetrics: true, ...options }).fetchNext();
        return JSON.parse(indexMetrics);
      };
      const specs = (list) => list.map(({ IndexSpec, IndexSpecs }) => (IndexSpec ?? IndexSpecs.join()).replaceAll(", ", ","));
      const single = await metricsOf("SELECT * FROM c WHERE c.word = 'apple' AND c.place.city > 'M'");
      assert.deepEqual(specs(single.UtilizedIndexes.SingleIndexes).sort(), ["/place/city/?", "/word/?"]);
      const composite = await metricsOf("SELECT * FROM c WHERE c.m = 1 AND c.n > 5");
      assert.deepEqual(specs(composite.UtilizedIndexes.CompositeIndexes), ["/m ASC,/n ASC"]);
      const potential = await metricsOf("SELECT * FROM c WHERE c.word = 'apple' AND c.price > 5");
      assert.deepEqual(specs(potential.PotentialIndexes.CompositeIndexes), ["/word ASC,/price ASC"]);
      const sorted = await metricsOf("SELECT * FROM c ORDER BY c.m, c.n", { maxItemCount: 100 });
      assert.deepEqual(specs(sorted.UtilizedIndexes.CompositeIndexes), ["/m ASC,/n ASC"]);
    });

    test("a query costs what it returns", async () => {
      const charge = async (query, options) => (await items.items.query(query, options).fetchAll()).requestCharge;
      const one = await charge("SELECT * FROM c WHERE c.id = 'i3'");
      const some = await charge("SELECT * FROM c WHERE c.n < 10");
      const all = await charge("SELECT * FROM c");
      assert.ok(one > (await items.item("i3", "k3").read()).requestCharge);
      assert.ok(one < some && some < all, `${one} ${some} ${all}`);
      assert.equal(await charge("SELECT * FROM c"), all);
      assert.ok((await charge("SELECT * FROM c WHERE c.n < 10", { partitionKey: "k1" })) < some);
    });
  });
}
