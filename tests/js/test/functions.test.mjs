// User-defined functions in queries.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, pagesOf, refuses, temporaryDatabase, unique } from "../lib/account.mjs";

const client = connect();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

const functions = {
  tax: function tax(income) {
    if (income === undefined) throw "no input";
    if (income < 1000) return income * 0.1;
    return income < 10000 ? income * 0.2 : income * 0.4;
  },
  REGEX_MATCH: (input, pattern) => input.match(pattern) !== null,
  SEALEVEL: (city) => ({ seattle: 520, NY: 410, Chicago: 673 })[city] ?? -1,
  same: (x) => x,
  isKnown: (x) => x !== undefined,
  picky: (n) => {
    if (n === 17) throw new Error("not seventeen");
    return n > 3;
  },
};

const cities = ["seattle", "NY", "Chicago", "Boston"];
const items = Array.from({ length: 30 }, (_, n) => ({
  id: `i${n}`, pk: `k${n % 7}`, n, city: cities[n % 4], income: 10 ** ((n % 4) + 2), tags: ["all", `t${n % 2}`],
}));
const sorted = (rows) => rows.toSorted((a, b) => a - b);

for (const [words, throughput] of [["one partition", 400], ["three partitions", 30000]]) {
  describe(`functions over ${words}`, () => {
    let container;
    const rows = async (query, options) => (await container.items.query(query, options).fetchAll()).resources;
    before(async () => {
      ({ container } = await database.containers.create({ id: unique("c"), partitionKey: "/pk", throughput }));
      for (const item of items) await container.items.create(item);
      for (const [id, body] of Object.entries(functions)) {
        // The SDK takes functions as well as their text.
        await container.scripts.userDefinedFunctions.create({ id, body });
      }
    });

    test("tax in SELECT and WHERE", async () => {
      const query = {
        query: "SELECT c.n, udf.tax(c.income) AS tax FROM c WHERE udf.tax(c.income) > @least ORDER BY c.n",
        parameters: [{ name: "@least", value: 100 }],
      };
      const expected = items.map(({ n, income }) => ({ n, tax: functions.tax(income) })).filter(({ tax }) => tax > 100);
      assert.deepEqual(await rows(query), expected);
      assert.deepEqual(await rows(query, { partitionKey: "k3" }), expected.filter(({ n }) => n % 7 === 3));
      const failure = await refuses(400, () => rows("SELECT VALUE udf.tax(c.salary) FROM c"));
      assert.match(failure.message, /Encountered exception while executing Javascript. Exception = no input/);
    });

    test("regular expressions and tables", async () => {
      const found = await rows("SELECT VALUE c.city FROM c WHERE udf.REGEX_MATCH(c.city, '^[A-Z]{2}$')");
      assert.deepEqual([...new Set(found)], ["NY"]);
      const levels = await rows("SELECT DISTINCT VALUE udf.SEALEVEL(c.city) FROM c");
      assert.deepEqual(sorted(levels), [-1, 410, 520, 673]);
    });

    test("undefined goes both ways", async () => {
      assert.deepEqual(await rows("SELECT VALUE [udf.isKnown(c.absent), udf.isKnown(null)] FROM c WHERE c.n = 1"), [[false, true]]);
      assert.deepEqual(await rows("SELECT c.n, udf.same(c.absent) AS x FROM c WHERE c.n = 1"), [{ n: 1 }]);
      assert.deepEqual(await rows("SELECT VALUE udf.same(c.absent) FROM c"), []);
    });

    test("JOIN, aggregates and groups", async () => {
      const tags = await rows("SELECT VALUE udf.same(t) FROM c JOIN t IN c.tags WHERE udf.same(t) = 't1'");
      assert.equal(tags.length, 15);
      assert.deepEqual(await rows("SELECT VALUE SUM(udf.same(c.n)) FROM c"), [435]);
      const groups = await rows("SELECT udf.SEALEVEL(c.city) AS level, COUNT(1) AS n FROM c GROUP BY udf.SEALEVEL(c.city)");
      const found = Object.fromEntries(groups.map(({ level, n }) => [level, n]));
      assert.deepEqual(found, { 520: 8, 410: 8, 673: 7, "-1": 7 });
    });

    for (const maxItemCount of [1, 4, 100]) {
      test(`pages of ${maxItemCount}`, async () => {
        const query = "SELECT VALUE udf.same(c.n) FROM c WHERE udf.SEALEVEL(c.city) > 0";
        const pages = await pagesOf(container.items.query(query, { maxItemCount }));
        assert.ok(pages.every((page) => page.length <= maxItemCount));
        assert.deepEqual(sorted(pages.flat()), items.map(({ n }) => n).filter((n) => n % 4 !== 3));
        const ordered = await pagesOf(container.items.query(`${query} ORDER BY c.n DESC`, { maxItemCount }));
        assert.deepEqual(ordered.flat(), sorted(pages.flat()).toReversed());
      });
    }

    test("failures and what comes before them", async () => {
      const failure = await refuses(400, () => rows("SELECT VALUE c.n FROM c WHERE udf.picky(c.n)"));
      assert.match(failure.message, /Exception = Error: not seventeen/);
      const found = await rows("SELECT VALUE c.n FROM c WHERE udf.picky(c.n) AND c.n != 17");
      assert.equal(found.length, 25);
      const unknown = await refuses(400, () => rows("SELECT VALUE udf.Tax(c.income) FROM c"));
      assert.match(unknown.message, /'Tax' is not a recognized user-defined function name/);
      const many = Array(11).fill("udf.same(c.n)").join(", ");
      await refuses(400, () => rows(`SELECT VALUE [${many}] FROM c`));
      await refuses(400, () => rows("SELECT * FROM c ORDER BY udf.same(c.n)"));
    });
  });
}
