// User-defined functions in queries with the 2017 package.

"use strict";

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { after, before, describe, test } = require("node:test");
const { UriFactory } = require("documentdb");
const { connect, pagesOf, refuses, toArray } = require("./client.cjs");

const client = connect();
const databaseId = `functions-${randomUUID()}`;
const databaseLink = UriFactory.createDatabaseUri(databaseId);

before(() => client.createDatabase({ id: databaseId }));
after(() => client.deleteDatabase(databaseLink));

const tax = (income) => income * (income < 1000 ? 0.1 : income < 10000 ? 0.2 : 0.4);
const documents = Array.from({ length: 20 }, (_, n) => ({ id: `i${n}`, pk: `k${n % 5}`, n, income: 10 ** ((n % 4) + 2) }));

for (const [words, throughput] of [["one partition", 400], ["three partitions", 30000]]) {
  describe(`functions over ${words}`, () => {
    let link;
    const options = { enableCrossPartitionQuery: true };
    const rows = (query, more) => toArray(client.queryDocuments(link, query, { ...options, ...more }));
    before(async () => {
      const body = { id: `c-${randomUUID()}`, partitionKey: { paths: ["/pk"], kind: "Hash" } };
      const { result } = await client.createCollection(databaseLink, body, { offerThroughput: throughput });
      link = UriFactory.createDocumentCollectionUri(databaseId, result.id);
      for (const document of documents) await client.createDocument(link, document);
      await client.createUserDefinedFunction(link, { id: "tax", serverScript: tax });
      const serverScript = "function (n) { if (n === 7) throw new Error('seven'); return n; }";
      await client.createUserDefinedFunction(link, { id: "picky", serverScript });
    });

    test("SELECT and WHERE", async () => {
      const found = await rows("SELECT c.n, udf.tax(c.income) AS tax FROM c WHERE udf.tax(c.income) > 100 ORDER BY c.n");
      const expected = documents.map(({ n, income }) => ({ n, tax: tax(income) })).filter((row) => row.tax > 100);
      assert.deepEqual(found, expected);
    });

    test("pages and aggregates", async () => {
      const query = "SELECT VALUE udf.tax(c.n) FROM c WHERE udf.tax(c.income) > 5";
      const pages = await pagesOf(client.queryDocuments(link, query, { ...options, maxItemCount: 3 }));
      assert.equal(pages.flat().length, 20);
      const [sum] = await rows("SELECT VALUE SUM(udf.tax(c.income)) FROM c");
      const expected = documents.reduce((total, { income }) => total + tax(income), 0);
      assert.ok(Math.abs(sum - expected) < 1e-6);
    });

    test("failures", async () => {
      const failure = await refuses(400, rows("SELECT VALUE udf.picky(c.n) FROM c"));
      assert.match(failure.body, /Exception = Error: seven/);
      await refuses(400, rows("SELECT VALUE udf.absent(c.n) FROM c"));
    });
  });
}
