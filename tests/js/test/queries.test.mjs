// Queries over items, each run in every way the SDK knows, over one partition and over three.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, refuses, temporaryDatabase, withoutSystem } from "../lib/account.mjs";
import { by, createContainer, distinct, fill, groups, rows, runs, sample, sizes, sum, ways } from "../lib/queries.mjs";

const client = connect();
const documents = sample();
const withOpt = documents.filter(({ opt }) => opt !== undefined);
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

for (const [size, throughput] of sizes) {
  describe(`queries over ${size}`, () => {
    let items;

    before(async () => {
      const indexingPolicy = {
        includedPaths: [{ path: "/*" }],
        compositeIndexes: [
          [{ path: "/m", order: "ascending" }, { path: "/n", order: "descending" }],
          [{ path: "/word", order: "ascending" }, { path: "/m", order: "ascending" }, { path: "/n", order: "ascending" }],
        ],
      };
      items = await fill(await createContainer(database, { throughput, indexingPolicy }), documents);
    });

    test("whole items", async () => {
      for (const [way, options] of ways) {
        const all = await rows(items, "SELECT * FROM c", options);
        assert.deepEqual(all.map(withoutSystem).sort(by(({ n }) => n)), documents, way);
        const { resource } = await items.item(all[0].id, all[0].pk).read();
        assert.deepEqual(all[0], resource, way);
      }
      const { resources } = await items.items.readAll().fetchAll();
      assert.deepEqual(resources.map(withoutSystem).sort(by(({ n }) => n)), documents);
    });

    test("projections", async () => {
      await runs(items, "SELECT c.n, c.place.city, c.opt AS maybe, c.n + 1 FROM c", documents.map(({ n, place, opt }) => ({
        n, city: place.city, maybe: opt, $1: n + 1,
      })));
      await runs(items, "SELECT VALUE c.opt FROM c", withOpt.map(({ opt }) => opt));
      await runs(items, "SELECT VALUE { k: c.m, list: [c.n, c.opt] } FROM c", documents.map(({ m, n, opt }) => ({
        k: m, list: opt === undefined ? [n] : [n, opt],
      })));
      await runs(items, "SELECT c.opt FROM c", documents.map(({ opt }) => ({ opt })));
      await runs(items, "SELECT UPPER(c.word) AS w, LENGTH(c.word) AS l FROM c WHERE c.n < 6", [
        { w: "APPLE", l: 5 }, { w: "BIRNE", l: 5 }, { w: "GRÖßE", l: 5 }, { w: "数据", l: 2 }, { w: "🦀 CRAB", l: 7 }, { w: "ZEBRA", l: 5 },
      ]);
    });

    test("filters", async () => {
      const filters = [
        ["c.n = 7", ({ n }) => n === 7],
        ["c.n != 7", ({ n }) => n !== 7],
        ["c.n > 10 AND c.n <= 20", ({ n }) => n > 10 && n <= 20],
        ["c.n BETWEEN 3 AND 5 OR c.m = 0", ({ n, m }) => (n >= 3 && n <= 5) || m === 0],
        ["NOT (c.m IN (1, 2, 3))", ({ m }) => m === 0 || m === 4],
        ["c.even", ({ even }) => even],
        ["c.place.city = 'Oslo' AND c.place.floor = 1", ({ place }) => place.city === "Oslo" && place.floor === 1],
        ["c['place']['floor'] = 2", ({ place }) => place.floor === 2],
        ["IS_DEFINED(c.opt)", ({ opt }) => opt !== undefined],
        ["NOT IS_DEFINED(c.opt)", ({ opt }) => opt === undefined],
        ["c.opt >= 100", ({ opt }) => opt >= 100],
        ["c.opt != null", ({ opt }) => opt !== undefined],
        ["STARTSWITH(c.word, 'a') OR ENDSWITH(c.word, 'crab')", ({ word }) => /^a|crab$/.test(word)],
        ["CONTAINS(c.word, 'RN', true)", ({ word }) => /rn/i.test(word)],
        ["c.word LIKE '%e_%'", ({ word }) => /e./.test(word)],
        ["c.word = 'größe'", ({ word }) => word === "größe"],
        ["c.word > 'z'", ({ word }) => word > "z"],
        ["ARRAY_CONTAINS(c.tags, 't1')", ({ tags }) => tags.includes("t1")],
        ["ARRAY_CONTAINS(c.parts, { name: 'door', count: 5 })", ({ n }) => n === 4],
        ["c.parts[1].count = 9", ({ n }) => n === 8],
        ["c.n % 7 = 0 AND c.price > 10.5", ({ n, price }) => n % 7 === 0 && price > 10.5],
        ["c.pk = 'k3'", ({ pk }) => pk === "k3"],
        ["c.pk IN ('k1', 'k5', 'none')", ({ pk }) => pk === "k1" || pk === "k5"],
        ["c.pk = 'k1' AND c.pk = 'k2'", () => false],
        ["c.id = 'i12'", ({ id }) => id === "i12"],
        ["c.unknown = 1", () => false],
        ["c.word = 1", () => false],
        ["true", () => true],
        ["false", () => false],
        ["1", () => false],
      ];
      for (const [filter, keeps] of filters) {
        await runs(items, `SELECT VALUE c.n FROM c WHERE ${filter}`, documents.filter(keeps).map(({ n }) => n), { only: ways.slice(0, 3) });
      }
    });

    test("parameters", async () => {
      const query = (text, values) => ({
        query: text,
        parameters: Object.entries(values).map(([name, value]) => ({ name: `@${name}`, value })),
      });
      const among = query("SELECT VALUE c.n FROM c WHERE c.word = @word AND ARRAY_CONTAINS(@list, c.m)", {
        word: "数据",
        list: [1, 3],
      });
      await runs(items, among, documents.filter(({ word, m }) => word === "数据" && (m === 1 || m === 3)).map(({ n }) => n));
      const part = query("SELECT VALUE c.n FROM c WHERE c.parts[0] = @part", { part: { count: 3, name: "wheel" } });
      await runs(items, part, [3]);
      const sorted = query("SELECT VALUE c.n FROM c WHERE c.n >= @from AND c.pk != @pk ORDER BY c.n", { from: 20, pk: "k0" });
      await runs(items, sorted, documents.filter(({ n, pk }) => n >= 20 && pk !== "k0").map(({ n }) => n), { ordered: true });
      const top = query("SELECT TOP @top VALUE c.n FROM c ORDER BY c.n", { top: 4 });
      await runs(items, top, [0, 1, 2, 3], { ordered: true });
      const window = query("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET @offset LIMIT @limit", { offset: 10, limit: 5 });
      await runs(items, window, [10, 11, 12, 13, 14], { ordered: true });
      const quoted = query("SELECT VALUE @text FROM c WHERE c.n = 0", { text: `'"\\ größe 🦀 {documentdb-formattableorderbyquery-filter}` });
      await runs(items, quoted, [quoted.parameters[0].value]);
      const count = query("SELECT VALUE COUNT(1) FROM c WHERE c.m = @m", { m: 2 });
      await runs(items, count, [8]);
    });

    test("ORDER BY one path", async () => {
      const sorted = (key, direction) => [...documents].sort(by(key, direction)).map(key);
      for (const [path, key] of [["n", ({ n }) => n], ["price", ({ price }) => price], ["word", ({ word }) => word]]) {
        await runs(items, `SELECT VALUE c.${path} FROM c ORDER BY c.${path}`, sorted(key, 1), { ordered: true });
        await runs(items, `SELECT VALUE c.${path} FROM c ORDER BY c.${path} DESC`, sorted(key, -1), { ordered: true });
      }
      await runs(items, "SELECT VALUE c.n FROM c WHERE c.place.city = 'Oslo' ORDER BY c.price ASC",
        documents.filter(({ place }) => place.city === "Oslo").sort(by(({ price }) => price)).map(({ n }) => n), { ordered: true });
      await runs(items, "SELECT c.id, c.place FROM c ORDER BY c['n'] DESC",
        [...documents].reverse().map(({ id, place }) => ({ id, place })), { ordered: true });
      await runs(items, "SELECT VALUE c.n FROM c ORDER BY c.parts[0].count", documents.map(({ n }) => n), { ordered: true });
      await runs(items, "SELECT VALUE c.opt FROM c ORDER BY c.n DESC", withOpt.map(({ opt }) => opt).reverse(), { ordered: true });
    });

    test("ORDER BY several paths", async () => {
      const sorted = (...keys) => [...documents].sort((left, right) => {
        for (const [key, direction] of keys) {
          const order = by((document) => document[key], direction)(left, right);
          if (order !== 0) return order;
        }
        return 0;
      });
      const pair = ({ m, n }) => [m, n];
      await runs(items, "SELECT VALUE [c.m, c.n] FROM c ORDER BY c.m, c.n DESC", sorted(["m", 1], ["n", -1]).map(pair), { ordered: true });
      await runs(items, "SELECT VALUE [c.m, c.n] FROM c ORDER BY c.m DESC, c.n ASC", sorted(["m", -1], ["n", 1]).map(pair), { ordered: true });
      await runs(items, "SELECT VALUE c.n FROM c WHERE c.m > 1 ORDER BY c.word DESC, c.m DESC, c.n DESC",
        sorted(["word", -1], ["m", -1], ["n", -1]).filter(({ m }) => m > 1).map(({ n }) => n), { ordered: true });
    });

    test("TOP and OFFSET LIMIT", async () => {
      const numbers = documents.map(({ n }) => n);
      await runs(items, "SELECT TOP 7 VALUE c.n FROM c ORDER BY c.n", numbers.slice(0, 7), { ordered: true });
      await runs(items, "SELECT TOP 7 VALUE c.n FROM c ORDER BY c.n DESC", numbers.slice(-7).reverse(), { ordered: true });
      await runs(items, "SELECT TOP 100 VALUE c.n FROM c", numbers);
      await runs(items, "SELECT TOP 0 VALUE c.n FROM c", []);
      await runs(items, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 35 LIMIT 10", numbers.slice(35), { ordered: true });
      await runs(items, "SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 5 LIMIT 3", [34, 33, 32], { ordered: true });
      await runs(items, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 40 LIMIT 3", []);
      await runs(items, "SELECT VALUE c.n FROM c OFFSET 3 LIMIT 0", []);
      // Without an order any rows will do, but no row twice.
      for (const [way, options] of ways) {
        for (const [query, length] of [["SELECT TOP 5 VALUE c.n FROM c", 5], ["SELECT VALUE c.n FROM c OFFSET 8 LIMIT 20", 20]]) {
          const found = await rows(items, query, options);
          assert.equal(found.length, length, `${query} — ${way}`);
          assert.equal(new Set(found).size, length, `${query} — ${way}`);
        }
      }
    });

    test("DISTINCT", async () => {
      await runs(items, "SELECT DISTINCT VALUE c.word FROM c", distinct(documents.map(({ word }) => word)));
      await runs(items, "SELECT DISTINCT c.m, c.even FROM c", distinct(documents.map(({ m, even }) => ({ m, even }))));
      await runs(items, "SELECT DISTINCT VALUE c.place FROM c", distinct(documents.map(({ place }) => place)));
      await runs(items, "SELECT DISTINCT VALUE c.word FROM c ORDER BY c.word DESC",
        distinct(documents.map(({ word }) => word)).sort().reverse(), { ordered: true });
      await runs(items, "SELECT DISTINCT TOP 3 VALUE c.word FROM c ORDER BY c.word",
        distinct(documents.map(({ word }) => word)).sort().slice(0, 3), { ordered: true });
      await runs(items, "SELECT DISTINCT VALUE c.word FROM c ORDER BY c.word OFFSET 1 LIMIT 2",
        distinct(documents.map(({ word }) => word)).sort().slice(1, 3), { ordered: true });
      await runs(items, "SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags", ["t0", "t1", "t2", "t3", "t4"]);
    });

    test("aggregates of one value", async () => {
      const numbers = documents.map(({ n }) => n);
      const prices = documents.map(({ price }) => price);
      const aggregates = [
        ["COUNT(1)", 40],
        ["COUNT(c.opt)", withOpt.length],
        ["SUM(c.n)", sum(numbers)],
        ["SUM(c.price)", sum(prices)],
        ["SUM(c.opt)", sum(withOpt.map(({ opt }) => opt))],
        ["AVG(c.n)", sum(numbers) / 40],
        ["AVG(c.opt)", sum(withOpt.map(({ opt }) => opt)) / withOpt.length],
        ["MIN(c.price)", 0.5],
        ["MAX(c.price)", 39.5],
        ["MIN(c.word)", "Birne"],
        ["MAX(c.word)", "🦀 crab"],
        ["COUNTIF(c.even)", 20],
        ["COUNTIF(c.n > 30)", 9],
      ];
      for (const [aggregate, expected] of aggregates) await runs(items, `SELECT VALUE ${aggregate} FROM c`, [expected]);
      await runs(items, "SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags WHERE t = 't1'", [20]);
      await runs(items, "SELECT VALUE MAX(c.n) FROM c WHERE c.m = 2", [37]);
    });

    test("aggregates of nothing", async () => {
      await runs(items, "SELECT VALUE COUNT(1) FROM c WHERE c.n > 100", [0]);
      await runs(items, "SELECT VALUE SUM(c.n) FROM c WHERE c.n > 100", [0]);
      for (const name of ["AVG", "MIN", "MAX"]) await runs(items, `SELECT VALUE ${name}(c.n) FROM c WHERE c.n > 100`, []);
      await runs(items, "SELECT VALUE SUM(c.word) FROM c", []);
      await runs(items, "SELECT VALUE AVG(c.word) FROM c", []);
    });

    test("lists and sets", async () => {
      for (const [way, options] of ways) {
        const [list] = await rows(items, "SELECT VALUE MAKELIST(c.n) FROM c", options);
        assert.deepEqual(list.sort(by((n) => n)), documents.map(({ n }) => n), way);
        const [set] = await rows(items, "SELECT VALUE MAKESET(c.word) FROM c", options);
        assert.deepEqual(set.sort(), distinct(documents.map(({ word }) => word)).sort(), way);
      }
    });

    test("aggregates side by side", async () => {
      await runs(items, "SELECT COUNT(1) AS k, SUM(c.n) AS s, AVG(c.n) AS a, MIN(c.word) AS low, MAX(c.price) FROM c",
        [{ k: 40, s: 780, a: 19.5, low: "Birne", $1: 39.5 }]);
    });

    test("GROUP BY", async () => {
      const perM = groups(documents, ({ m }) => m);
      await runs(items, "SELECT c.m, COUNT(1) AS k, SUM(c.n) AS s, AVG(c.price) AS a, MIN(c.n) AS low, MAX(c.word) AS high FROM c GROUP BY c.m",
        perM.map((group) => ({
          m: group[0].m,
          k: group.length,
          s: sum(group.map(({ n }) => n)),
          a: sum(group.map(({ price }) => price)) / group.length,
          low: group[0].n,
          high: group.map(({ word }) => word).sort().at(-1),
        })));
      await runs(items, "SELECT c.place.city, c.even, COUNT(1) AS k FROM c WHERE c.n > 9 GROUP BY c.place.city, c.even",
        groups(documents.filter(({ n }) => n > 9), ({ place, even }) => [place.city, even])
          .map((group) => ({ city: group[0].place.city, even: group[0].even, k: group.length })));
      await runs(items, "SELECT VALUE c.word FROM c GROUP BY c.word", distinct(documents.map(({ word }) => word)));
      await runs(items, "SELECT VALUE SUM(c.n) FROM c GROUP BY c.even", [380, 400]);
      await runs(items, "SELECT c.pk, COUNTIF(c.even) AS evens FROM c GROUP BY c.pk",
        groups(documents, ({ pk }) => pk).map((group) => ({ pk: group[0].pk, evens: group.filter(({ even }) => even).length })));
      await runs(items, "SELECT c.opt, COUNT(1) AS k FROM c WHERE c.n < 7 GROUP BY c.opt",
        [{ opt: 0, k: 1 }, { opt: 30, k: 1 }, { opt: 60, k: 1 }, { k: 4 }]);
      await runs(items, "SELECT LENGTH(c.word) AS l, COUNT(1) AS k FROM c GROUP BY LENGTH(c.word)",
        groups(documents, ({ word }) => word.length).map((group) => ({ l: group[0].word.length, k: group.length })));
      await runs(items, "SELECT c.m, COUNT(1) AS k FROM c WHERE false GROUP BY c.m", []);
    });

    test("JOIN", async () => {
      await runs(items, "SELECT c.n, t FROM c JOIN t IN c.tags WHERE c.n < 5",
        documents.slice(0, 5).flatMap(({ n, tags }) => tags.map((t) => ({ n, t }))));
      await runs(items, "SELECT VALUE p.count FROM c JOIN p IN c.parts WHERE p.name = 'door' AND p.count > 30",
        documents.filter(({ n }) => n + 1 > 30).map(({ n }) => n + 1));
      await runs(items, "SELECT VALUE { t: t, p: p.name } FROM c JOIN t IN c.tags JOIN p IN c.parts WHERE c.id = 'i8'",
        ["t0", "t4"].flatMap((t) => ["wheel", "door"].map((p) => ({ t, p }))));
      await runs(items, "SELECT VALUE t FROM t IN c.tags WHERE t != 't0'", documents.flatMap(({ tags }) => tags).filter((t) => t !== "t0"));
      await runs(items, "SELECT VALUE p.name FROM c JOIN p IN c.parts WHERE c.m = 1 ORDER BY c.n DESC",
        documents.filter(({ m }) => m === 1).flatMap(() => ["wheel", "door"]), { ordered: true });
    });

    test("subqueries", async () => {
      await runs(items, "SELECT VALUE c.n FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 't3') AND c.even",
        documents.filter(({ tags, even }) => tags.includes("t3") && even).map(({ n }) => n));
      await runs(items, "SELECT c.n, ARRAY(SELECT VALUE p.name FROM p IN c.parts WHERE p.count > 2) AS names FROM c WHERE c.n < 4", [
        { n: 0, names: [] }, { n: 1, names: [] }, { n: 2, names: ["door"] }, { n: 3, names: ["wheel", "door"] },
      ]);
      await runs(items, "SELECT c.n, (SELECT VALUE SUM(p.count) FROM p IN c.parts) AS total FROM c",
        documents.map(({ n }) => ({ n, total: 2 * n + 1 })));
      await runs(items, "SELECT VALUE big.x FROM c JOIN (SELECT VALUE { x: c.n * 2 }) big WHERE big.x > 70", [72, 74, 76, 78]);
      await runs(items, "SELECT VALUE COUNT(1) FROM c WHERE (SELECT VALUE COUNT(1) FROM p IN c.parts WHERE p.count % 2 = 0) = 1", [40]);
    });

    test("counting distinct values", async () => {
      // The SDK cannot merge such counts, so it gets the answer whole; a plan it asks for is refused.
      const query = "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.word FROM c)";
      assert.deepEqual(await rows(items, query), [6]);
      const error = await refuses(400, () => rows(items, query, { forceQueryPlan: true }));
      assert.match(error.message, /the calling client does not support: DCount/);
    });

    test("without FROM", async () => {
      await runs(items, "SELECT 1 AS one, 'a' || 'b' AS text, [1, null, undefined] AS list", [{ one: 1, text: "ab", list: [1, null] }]);
      await runs(items, "SELECT VALUE GetCurrentTimestamp() > 0", [true]);
    });

    test("names that need quotes", async () => {
      const odd = await createContainer(database, { throughput });
      await fill(odd, [0, 1, 2].map((n) => ({ id: `i${n}`, pk: `k${n}`, "größe 🦀": n, "a.b": { "": n }, order: 2 - n, 'quo"te': `'${n}'` })));
      await runs(odd, 'SELECT VALUE c["größe 🦀"] FROM c WHERE c["a.b"][""] > 0', [1, 2]);
      await runs(odd, 'SELECT c["größe 🦀"] AS size FROM c ORDER BY c["order"]', [2, 1, 0].map((size) => ({ size })), { ordered: true });
      await runs(odd, "SELECT VALUE c['quo\\\"te'] FROM c WHERE c['quo\\\"te'] = \"'1'\"", ["'1'"]);
      await runs(odd, 'SELECT c["order"], COUNT(1) AS k FROM c GROUP BY c["order"]', [0, 1, 2].map((order) => ({ order, k: 1 })));
    });

    test("nothing to find", async () => {
      const empty = await createContainer(database, { throughput });
      for (const query of [
        "SELECT * FROM c", "SELECT * FROM c ORDER BY c.n", "SELECT TOP 3 * FROM c", "SELECT DISTINCT c.n FROM c",
        "SELECT * FROM c OFFSET 1 LIMIT 2", "SELECT VALUE MIN(c.n) FROM c", "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n",
        "SELECT VALUE t FROM c JOIN t IN c.tags",
      ]) await runs(empty, query, []);
      await runs(empty, "SELECT VALUE COUNT(1) FROM c", [0]);
      await runs(empty, "SELECT COUNT(1) AS k, SUM(c.n) AS s FROM c", [{ k: 0, s: 0 }]);
    });

    test("system properties", async () => {
      const { resource } = await items.item("i5", "k5").read();
      await runs(items, "SELECT VALUE c._rid FROM c WHERE c.id = 'i5'", [resource._rid]);
      await runs(items, { query: "SELECT c._self, c._etag, c._ts FROM c WHERE c._ts = @ts AND c.n = 5", parameters: [{ name: "@ts", value: resource._ts }] },
        [{ _self: resource._self, _etag: resource._etag, _ts: resource._ts }]);
    });
  });
}
