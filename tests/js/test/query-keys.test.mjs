// Queries and partition keys: one key, the beginning of one, keys of every type, keys in filters.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, refuses, temporaryDatabase } from "../lib/account.mjs";
import { assertRows, by, createContainer, fill, rows, runs, sizes, ways } from "../lib/queries.mjs";

const client = connect();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

for (const [size, throughput] of sizes) {
  describe(`keys over ${size}`, () => {
    for (const version of [1, 2]) {
      test(`of every type, hash version ${version}`, async () => {
        const items = await createContainer(database, { throughput, partitionKey: { paths: ["/pk"], kind: "Hash", version } });
        const keys = ["", "1", 1, 0, -1.5, true, false, null, "größe 🦀", "x".repeat(120)];
        const documents = keys.flatMap((pk, at) => [{ id: "a", pk, at }, { id: "b", pk, at }]);
        await fill(items, [...documents, { id: "a", at: -1 }, { id: "b", at: -1 }]);
        for (const [at, pk] of keys.entries()) {
          assert.deepEqual(await rows(items, "SELECT c.id, c.at FROM c ORDER BY c.id", { partitionKey: pk }), [{ id: "a", at }, { id: "b", at }]);
          assert.deepEqual(await rows(items, "SELECT VALUE COUNT(1) FROM c", { partitionKey: pk }), [2]);
          const named = { query: "SELECT VALUE c.at FROM c WHERE c.pk = @pk", parameters: [{ name: "@pk", value: pk }] };
          await runs(items, named, [at, at], { only: ways.slice(0, 3) });
        }
        await runs(items, "SELECT VALUE c.at FROM c WHERE NOT IS_DEFINED(c.pk)", [-1, -1]);
        await runs(items, "SELECT VALUE c.at FROM c WHERE c.pk IN ('1', 1, true, null, 'absent') AND c.id = 'b'", [1, 2, 5, 7]);
        await runs(items, "SELECT VALUE COUNT(1) FROM c", [22]);
      });
    }

    test("a filter on the key is enough", async () => {
      const items = await createContainer(database, { throughput });
      await fill(items, Array.from({ length: 30 }, (_, n) => ({ id: `i${n}`, pk: `k${n % 3}`, n })));
      // One key needs no plan, so the server's own token comes back.
      const query = "SELECT VALUE c.n FROM c WHERE c.pk = 'k1' ORDER BY c.n DESC";
      const first = await items.items.query(query, { maxItemCount: 4 }).fetchNext();
      assert.deepEqual(first.resources, [28, 25, 22, 19]);
      const { continuationToken } = first;
      assert.deepEqual(await rows(items, query, { maxItemCount: 4, continuationToken }), [16, 13, 10, 7, 4, 1]);
      await runs(items, "SELECT VALUE SUM(c.n) FROM c WHERE c.pk = 'k2' AND c.n > 20", [23 + 26 + 29]);
      await runs(items, "SELECT TOP 2 VALUE c.n FROM c WHERE 'k0' = c['pk'] ORDER BY c.n", [0, 3], { ordered: true });
      await runs(items, "SELECT VALUE c.n FROM c WHERE c.pk = 'k0' ORDER BY c.n OFFSET 2 LIMIT 2", [6, 9], { ordered: true });
      await runs(items, "SELECT VALUE c.n FROM c WHERE (c.pk = 'k0' OR c.pk = 'k1') AND c.n < 4 ORDER BY c.n", [0, 1, 3], { ordered: true });
      await runs(items, "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'none'", [0]);
    });

    test("a key in the options and another in the filter", async () => {
      const items = await createContainer(database, { throughput });
      await fill(items, Array.from({ length: 9 }, (_, n) => ({ id: `i${n}`, pk: `k${n % 3}`, n })));
      assert.deepEqual(await rows(items, "SELECT * FROM c WHERE c.pk = 'k1'", { partitionKey: "k2" }), []);
      assert.deepEqual(await rows(items, "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'k1'", { partitionKey: "k2" }), [0]);
      assert.deepEqual(await rows(items, "SELECT VALUE c.n FROM c WHERE c.pk = 'k1' OR c.n = 2", { partitionKey: "k2" }), [2]);
    });

    test("nested and quoted key paths", async () => {
      for (const [path, reference, shape] of [
        ["/a/b", "c.a.b", (value) => ({ a: { b: value } })],
        ['/"a b"', "c['a b']", (value) => ({ "a b": value })],
        ["/id", "c.id", () => ({})],
      ]) {
        const items = await createContainer(database, { throughput, partitionKey: path });
        for (let n = 0; n < 6; n += 1) await items.items.create({ id: `v${n}`, n, ...shape(`v${n}`) });
        await runs(items, `SELECT VALUE c.n FROM c WHERE ${reference} = 'v4'`, [4]);
        assert.deepEqual(await rows(items, "SELECT VALUE c.n FROM c", { partitionKey: "v2" }), [2]);
        await runs(items, `SELECT VALUE c.n FROM c WHERE ${reference} IN ('v1', 'v5') ORDER BY c.n DESC`, [5, 1], { ordered: true });
      }
    });

    test("hierarchical keys", async () => {
      const partitionKey = { paths: ["/tenant", "/user", "/session"], kind: "MultiHash", version: 2 };
      const items = await createContainer(database, { throughput, partitionKey });
      const documents = [];
      for (let n = 0; n < 36; n += 1) {
        documents.push({ id: `i${n}`, tenant: `t${n % 3}`, user: `u${n % 4}`, session: n % 2, n, m: n % 5 });
      }
      for (const document of documents) await items.items.create(document);
      const of = (keeps) => documents.filter(keeps).map(({ n }) => n);

      for (const [key, keeps] of [
        [["t1"], ({ tenant }) => tenant === "t1"],
        [["t1", "u2"], ({ tenant, user }) => tenant === "t1" && user === "u2"],
        [["t1", "u2", 0], ({ tenant, user, session }) => tenant === "t1" && user === "u2" && session === 0],
        [["t1", "u2", 1], () => false],
        [["t9"], () => false],
      ]) {
        const expected = of(keeps);
        for (const maxItemCount of [undefined, 1, 3]) {
          const options = { partitionKey: key, maxItemCount };
          assertRows(await rows(items, "SELECT VALUE c.n FROM c", options), expected, { context: key.join() });
          assert.deepEqual(await rows(items, "SELECT VALUE c.n FROM c ORDER BY c.n DESC", options), [...expected].reverse());
          assert.deepEqual(await rows(items, "SELECT VALUE COUNT(1) FROM c", options), [expected.length]);
          assert.deepEqual(await rows(items, "SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n", options), expected.slice(0, 2));
          const grouped = await rows(items, "SELECT c.m, COUNT(1) AS k FROM c GROUP BY c.m", options);
          assert.equal(grouped.reduce((total, { k }) => total + k, 0), expected.length);
        }
      }
      await refuses(400, () => rows(items, "SELECT * FROM c", { partitionKey: ["t1", "u2", 0, "more"] }));

      await runs(items, "SELECT VALUE c.n FROM c WHERE c.tenant = 't2'", of(({ tenant }) => tenant === "t2"));
      await runs(items, "SELECT VALUE c.n FROM c WHERE c.tenant = 't2' AND c.user = 'u1' ORDER BY c.n",
        of(({ tenant, user }) => tenant === "t2" && user === "u1"), { ordered: true });
      await runs(items, "SELECT VALUE COUNT(1) FROM c WHERE c.tenant = 't2' AND c.user = 'u1' AND c.session = 1", [3]);
      await runs(items, "SELECT VALUE c.n FROM c WHERE c.user = 'u3'", of(({ user }) => user === "u3"));
      await runs(items, "SELECT VALUE c.n FROM c WHERE c.tenant IN ('t0', 't1') AND c.user = 'u0'",
        of(({ tenant, user }) => tenant !== "t2" && user === "u0"));
      await runs(items, "SELECT c.tenant, c.user, COUNT(1) AS k FROM c GROUP BY c.tenant, c.user",
        Array.from({ length: 12 }, (_, n) => ({ tenant: `t${n % 3}`, user: `u${n % 4}`, k: 3 })));
    });

    test("plans name the ranges that a filter leaves", async () => {
      const items = await createContainer(database, { throughput });
      const rangesOf = async (query) => (await items.getQueryPlan(query)).result.queryRanges;
      const whole = { min: "", max: "FF", isMinInclusive: true, isMaxInclusive: false };
      assert.deepEqual(await rangesOf("SELECT * FROM c"), [whole]);
      const [point, ...more] = await rangesOf("SELECT * FROM c WHERE c.pk = 'a' AND c.x > 1");
      assert.deepEqual(more, []);
      assert.equal(point.min, point.max);
      assert.ok(point.isMinInclusive && point.isMaxInclusive);
      const several = await rangesOf("SELECT * FROM c WHERE c.pk IN ('a', 'b', 'c')");
      assert.equal(several.length, 3);
      assert.deepEqual(several, [...several].sort(by(({ min }) => min)));
      assert.ok(several.some(({ min }) => min === point.min));
    });
  });
}

describe("containers that were given no partition key", () => {
  test("are queried as one key", async () => {
    const items = await createContainer(database, { partitionKey: undefined });
    for (let n = 0; n < 12; n += 1) await items.items.create({ id: `i${n}`, n });
    await runs(items, "SELECT VALUE c.n FROM c WHERE c.n > 8 ORDER BY c.n DESC", [11, 10, 9], { ordered: true });
    await runs(items, "SELECT VALUE AVG(c.n) FROM c", [5.5]);
  });
});
