// Queries that are refused: the status, the words, and where in the text the mistake is.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, refuses, temporaryDatabase, unique } from "../lib/account.mjs";
import { createContainer, fill, rows, sample, sizes } from "../lib/queries.mjs";

const client = connect();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

/** The document of errors within a message. */
function errorsOf(failure) {
  const [, text] = /Message: (\{.*\})\r\nActivityId: /s.exec(failure.body.message) ?? [];
  assert.ok(text, `no errors in: ${failure.body.message}`);
  return JSON.parse(text).errors;
}

const mistakes = [
  ["SELECTTTT * FROM c", "SC1001", "Syntax error, incorrect syntax near 'SELECTTTT'.", 0, 9],
  ["SELECT * FROM c WHERE", "SC1002", "Syntax error, unexpected end-of-file.", 21, 21],
  ["SELECT * FROM c;", "SC1010", "Syntax error, invalid token ';'.", 15, 16],
  ["SELECT 'open FROM c", "SC1012", "Syntax error, invalid string literal token '''.", 7, 8],
  ["SELECT * FROM c WHERE d.x = 1", "SC2001", "Identifier 'd' could not be resolved.", 22, 23],
  ["SELECT BADFUNC(r.age) FROM Root r", "SC2005", "'BADFUNC' is not a recognized built-in function name.", 7, 14],
  ["SELECT * FROM c GROUP BY c.a", "SC2041", "'SELECT *' is not allowed with GROUP BY.", 7, 8],
  ["SELECT VALUE ABS(1, 2) FROM c", "SC2050", "The ABS function requires 1 argument(s).", 13, 22],
  ["SELECT TOP 1.5 * FROM c", "SC2060", "The count value provided for a TOP clause must be an integer.", 11, 14],
  ["SELECT VALUE MAX(MIN(r)) From r", "SC2101", "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.", 13, 24],
  ["SELECT c.a, c.b FROM c GROUP BY c.a", "SC2102",
    "Property reference 'c.b' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.", 12, 15],
  ["SELECT ARRAY(SELECT VALUE x FROM x IN c.y ORDER BY x) FROM c", "SC2202", "'ORDER BY' is not supported in subqueries.", 42, 52],
];

for (const [size, throughput] of sizes) {
  describe(`refusals over ${size}`, () => {
    let items;

    before(async () => {
      items = await fill(await createContainer(database, { throughput }), sample().slice(0, 10));
    });

    test("mistakes in the text, with their place", async () => {
      for (const [query, code, message, start, end] of mistakes) {
        for (const options of [{}, { partitionKey: "k1" }, { forceQueryPlan: true }]) {
          const failure = await refuses(400, () => rows(items, query, options));
          assert.equal(failure.body.code, "BadRequest");
          const [error] = errorsOf(failure);
          assert.deepEqual(error, { severity: "Error", location: { start, end }, code, message }, query);
        }
      }
    });

    test("a plan's failure says so", async () => {
      const failure = await refuses(400, () => items.getQueryPlan("SELECT * FROM"));
      assert.match(failure.body.message, /^Gateway Failed to Retrieve Query Plan: Message: /);
    });

    test("several mistakes at once", async () => {
      const failure = await refuses(400, () => rows(items, "SELECT c.a, c.b, c.d FROM c GROUP BY c.a"));
      assert.deepEqual(errorsOf(failure).map(({ location }) => location), [{ start: 12, end: 15 }, { start: 17, end: 20 }]);
    });

    test("orders that no index serves", async () => {
      const composite = await refuses(400, () => rows(items, "SELECT * FROM c ORDER BY c.m, c.n"));
      assert.match(composite.body.message,
        /The order by query does not have a corresponding composite index that it can be served from\./);
      const expression = await refuses(400, () => rows(items, "SELECT * FROM c ORDER BY LOWER(c.word)"));
      assert.match(expression.body.message,
        /Unsupported ORDER BY clause\. ORDER BY item expression could not be mapped to a document path\./);
      for (const options of [{}, { partitionKey: "k1" }]) {
        const joined = await refuses(400, () => rows(items, "SELECT VALUE t FROM c JOIN t IN c.tags ORDER BY t", options));
        assert.match(joined.body.message, /Order-by over correlated collections is not supported\./);
      }
    });

    test("paths that are excluded from the index", async () => {
      const indexingPolicy = { includedPaths: [{ path: "/*" }], excludedPaths: [{ path: "/word/?" }, { path: "/place/*" }] };
      const partly = await fill(await createContainer(database, { throughput, indexingPolicy }), sample().slice(0, 10));
      for (const path of ["word", "place.city"]) {
        for (const options of [{}, { partitionKey: "k1" }]) {
          const failure = await refuses(400, () => rows(partly, `SELECT * FROM c ORDER BY c.${path}`, options));
          assert.match(failure.body.message, /The index path corresponding to the specified order-by item is excluded\./);
        }
      }
      // Filters do without an index.
      assert.deepEqual(await rows(partly, "SELECT VALUE c.n FROM c WHERE c.word = 'apple' ORDER BY c.n"), [0, 6]);
      assert.deepEqual(await rows(partly, "SELECT VALUE c.n FROM c WHERE c.place.city = 'Oslo' ORDER BY c.n"), [0, 4, 8]);
    });

    test("absent parents and bad options", async () => {
      await refuses(404, () => rows(database.container(unique("none")), "SELECT * FROM c"));
      await refuses(404, () => rows(database.container(unique("none")), "SELECT VALUE COUNT(1) FROM c"));
      await refuses(400, () => items.items.query("SELECT * FROM c", { maxItemCount: -2 }).fetchNext());
      await refuses(400, () => items.items.query("SELECT * FROM c", { partitionKey: ["k1", "k2"] }).fetchNext());
      await refuses(400, () => rows(items, ""));
      await refuses(400, () => rows(items, { query: "SELECT * FROM c WHERE c.n = @absent", parameters: [] }));
    });
  });
}
