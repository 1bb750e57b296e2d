// Queries with the 2017 package `documentdb`. It sends every query first and is handed the plan
// with the refusal (400, substatus 1004); of plans it knows ORDER BY, TOP and five aggregates.

"use strict";

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { after, before, describe, test } = require("node:test");
const { DocumentBase, UriFactory } = require("documentdb");
const { connect, pagesOf, refuses, toArray } = require("./client.cjs");

const client = connect();
const databaseId = `legacy-${randomUUID()}`;
const databaseLink = UriFactory.createDatabaseUri(databaseId);

before(() => client.createDatabase({ id: databaseId }));
after(() => client.deleteDatabase(databaseLink));

const documents = Array.from({ length: 30 }, (_, n) => ({
  id: `i${n}`, pk: `k${n % 7}`, n, m: n % 5, half: n / 2, word: `w${n % 4}`, tags: ["all", `t${n % 2}`], place: { city: n % 3 ? "Lima" : "Oslo" },
}));
const numbers = documents.map(({ n }) => n);

async function collection(paths, options = {}, definition = {}) {
  const body = { id: `c-${randomUUID()}`, ...definition };
  if (paths) body.partitionKey = { paths, kind: "Hash" };
  const { result } = await client.createCollection(databaseLink, body, options);
  const link = UriFactory.createDocumentCollectionUri(databaseId, result.id);
  for (const document of documents) await client.createDocument(link, document);
  return { ...result, link };
}

/** The query's first answer as it came, before the client makes something of it. */
function firstAnswer(parent, query, options) {
  return new Promise((resolve) => {
    client.queryFeed(client, `/${parent.link}/docs`, "docs", parent.link, (result) => result.Documents, (_, body) => body,
      query, options, (error, result, headers) => resolve({ error, result, headers }));
  });
}

const sorted = (list) => [...list].sort((left, right) => left - right);

const kinds = [
  ["a collection without a partition key", undefined, {}],
  ["one partition", ["/pk"], {}],
  ["three partitions", ["/pk"], { offerThroughput: 30000 }],
];

for (const [kind, paths, creation] of kinds) {
  describe(`queries over ${kind}`, () => {
    const cross = paths ? { enableCrossPartitionQuery: true } : {};
    let parent;

    before(async () => {
      parent = await collection(paths, creation);
    });

    const query = (text, options = {}) => toArray(client.queryDocuments(parent.link, text, { ...cross, ...options }));

    test("filters and projections", async () => {
      for (const options of [{}, { maxItemCount: 1 }, { maxItemCount: 4 }, { maxItemCount: -1 }]) {
        assert.deepEqual(sorted(await query("SELECT VALUE c.n FROM c WHERE c.m = 2", options)), numbers.filter((n) => n % 5 === 2));
        assert.deepEqual(sorted(await query("SELECT VALUE c.n FROM c", options)), numbers);
      }
      const [whole] = await query("SELECT * FROM root WHERE root.id = 'i9'");
      const link = UriFactory.createDocumentUri(databaseId, parent.id, "i9");
      assert.deepEqual(whole, (await client.readDocument(link, paths ? { partitionKey: "k2" } : {})).result);
      assert.deepEqual(await query("SELECT c.id, c.place.city FROM c WHERE c.n = 3"), [{ id: "i3", city: "Oslo" }]);
      assert.deepEqual((await query("SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n < 2")).sort(), ["all", "all", "t0", "t1"]);
      const bySelf = await toArray(client.queryDocuments(parent._self, "SELECT VALUE c.n FROM c WHERE c.n > 26", cross));
      assert.deepEqual(sorted(bySelf), [27, 28, 29]);
    });

    test("parameters", async () => {
      const spec = {
        query: "SELECT VALUE c.n FROM c WHERE c.place = @place AND c.n >= @from ORDER BY c.n",
        parameters: [{ name: "@place", value: { city: "Oslo" } }, { name: "@from", value: 15 }],
      };
      assert.deepEqual(await query(spec), [15, 18, 21, 24, 27]);
    });

    test("ORDER BY", async () => {
      for (const options of [{}, { maxItemCount: 1 }, { maxItemCount: 7, maxDegreeOfParallelism: -1 }]) {
        assert.deepEqual(await query("SELECT VALUE c.n FROM c ORDER BY c.n", options), numbers);
        assert.deepEqual(await query("SELECT VALUE c.half FROM c ORDER BY c.half DESC", options), numbers.map((n) => n / 2).reverse());
        assert.deepEqual(await query("SELECT c.word FROM c WHERE c.n < 8 ORDER BY c.word", options),
          ["w0", "w0", "w1", "w1", "w2", "w2", "w3", "w3"].map((word) => ({ word })));
      }
      const whole = await query("SELECT * FROM c ORDER BY c.n DESC");
      assert.deepEqual(whole.map(({ id }) => id), documents.map(({ id }) => id).reverse());
      assert.ok(whole.every(({ _rid, _etag }) => _rid && _etag));
    });

    test("TOP", async () => {
      assert.deepEqual(await query("SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n DESC"), [29, 28, 27, 26]);
      assert.equal((await query("SELECT TOP 4 * FROM c")).length, 4);
      assert.equal((await query("SELECT TOP 100 * FROM c", { maxItemCount: 3 })).length, 30);
      assert.deepEqual(await query("SELECT TOP 0 * FROM c"), []);
    });

    test("aggregates", async () => {
      for (const options of [{}, { maxItemCount: 2 }]) {
        for (const [aggregate, expected] of [
          ["COUNT(1)", 30], ["COUNT(c.absent)", 0], ["SUM(c.n)", 435], ["AVG(c.half)", 7.25], ["MIN(c.n)", 0], ["MAX(c.n)", 29],
          ["MIN(c.word)", "w0"], ["MAX(c.word)", "w3"],
        ]) {
          assert.deepEqual(await query(`SELECT VALUE ${aggregate} FROM c`, options), [expected], aggregate);
        }
        assert.deepEqual(await query("SELECT VALUE COUNT(1) FROM c WHERE c.n > 100", options), [0]);
      }
    });

    test("what came after 2017 is answered whole", async () => {
      for (const options of [{}, { maxItemCount: 2 }]) {
        assert.deepEqual((await query("SELECT DISTINCT VALUE c.word FROM c", options)).sort(), ["w0", "w1", "w2", "w3"]);
        assert.deepEqual(await query("SELECT DISTINCT VALUE c.word FROM c ORDER BY c.word", options), ["w0", "w1", "w2", "w3"]);
        assert.deepEqual(await query("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 3", options), [10, 11, 12]);
        assert.equal((await query("SELECT * FROM c OFFSET 25 LIMIT 10", options)).length, 5);
        const groups = await query("SELECT c.m, COUNT(1) AS k FROM c GROUP BY c.m", options);
        assert.deepEqual(groups.sort((left, right) => left.m - right.m), [0, 1, 2, 3, 4].map((m) => ({ m, k: 6 })));
        assert.deepEqual(await query("SELECT COUNT(1) AS k, MAX(c.n) AS most FROM c", options), [{ k: 30, most: 29 }]);
        assert.deepEqual(await query("SELECT VALUE COUNTIF(c.m = 1) FROM c", options), [6]);
        assert.deepEqual(await query("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.word FROM c)", options), [4]);
      }
    });

    test("pages and tokens", async () => {
      const iterator = client.queryDocuments(parent.link, "SELECT VALUE c.n FROM c WHERE c.n >= 10", { ...cross, maxItemCount: 6 });
      const pages = await pagesOf(iterator);
      assert.ok(pages.every((page) => page.length <= 6));
      assert.deepEqual(sorted(pages.flat()), numbers.slice(10));

      const seen = [];
      let continuation;
      do {
        const options = { ...cross, maxItemCount: 6, continuation };
        const next = client.queryDocuments(parent.link, "SELECT VALUE c.n FROM c WHERE c.n >= 10", options);
        const { page, headers } = await new Promise((resolve, reject) => {
          next.executeNext((error, page, headers) => (error ? reject(error) : resolve({ page, headers })));
        });
        seen.push(...page);
        continuation = headers["x-ms-continuation"];
        assert.ok(seen.length <= 20);
      } while (continuation);
      assert.deepEqual(sorted(seen), numbers.slice(10));

      const merged = await pagesOf(client.queryDocuments(parent.link, "SELECT VALUE c.n FROM c ORDER BY c.n", { ...cross, maxItemCount: 4 }));
      assert.deepEqual(merged.flat(), numbers);
    });

    test("forEach, nextItem, current", async () => {
      const text = "SELECT VALUE c.n FROM c WHERE c.n < 6 ORDER BY c.n";
      const seen = await new Promise((resolve, reject) => {
        const list = [];
        client.queryDocuments(parent.link, text, cross).forEach((error, item) => {
          if (error) reject(error);
          else if (item === undefined) resolve(list);
          else list.push(item);
        });
      });
      assert.deepEqual(seen, [0, 1, 2, 3, 4, 5]);
      const iterator = client.queryDocuments(parent.link, text, cross);
      const call = (name) => new Promise((resolve, reject) => {
        iterator[name]((error, item) => (error ? reject(error) : resolve(item)));
      });
      assert.equal(await call("current"), 0);
      assert.equal(await call("nextItem"), 0);
      assert.equal(await call("nextItem"), 1);
    });

    test("queries as plain text", async () => {
      const plain = connect();
      plain.queryCompatibilityMode = DocumentBase.QueryCompatibilityMode.SqlQuery;
      const [, answer] = await new Promise((resolve, reject) => {
        plain.queryFeed(plain, `/${parent.link}/docs`, "docs", parent.link, (result) => result.Documents, (_, body) => body,
          "SELECT VALUE c.n FROM c WHERE c.n = 8", cross, (...outcome) => (outcome[0] ? reject(outcome[0]) : resolve(outcome)));
      });
      assert.deepEqual(answer, [8]);
    });

    test("metrics", async () => {
      const iterator = client.queryDocuments(parent.link, "SELECT * FROM c WHERE c.n < 5", { ...cross, populateQueryMetrics: true });
      const [items, headers] = await new Promise((resolve, reject) => {
        iterator.executeNext((error, items, headers) => (error ? reject(error) : resolve([items, headers])));
      });
      const metrics = headers["x-ms-documentdb-query-metrics"];
      assert.ok(items.length > 0 && items.length <= 5);
      assert.equal(metrics["0"].outputDocumentCount ?? metrics["0"]._outputDocumentCount, items.length);
      assert.ok(Number(headers["x-ms-request-charge"]) > 0);
    });

    test("mistakes", async () => {
      const error = await refuses(400, query("SELEC * FROM c"));
      assert.match(JSON.parse(error.body).message, /SC1001.*Syntax error, incorrect syntax near 'SELEC'\./);
      await refuses(400, query("SELECT * FROM c ORDER BY c.n, c.m"));
      await refuses(404, toArray(client.queryDocuments(`${databaseLink}/colls/none`, "SELECT * FROM c", cross)));
    });

    if (!paths) return;

    test("within one key", async () => {
      const own = numbers.filter((n) => n % 7 === 3);
      for (const options of [{ partitionKey: "k3" }, { partitionKey: "k3", maxItemCount: 1 }]) {
        const inKey = (text) => toArray(client.queryDocuments(parent.link, text, options));
        assert.deepEqual(await inKey("SELECT VALUE c.n FROM c"), own);
        assert.deepEqual(await inKey("SELECT VALUE c.n FROM c ORDER BY c.n DESC"), [...own].reverse());
        assert.deepEqual(await inKey("SELECT VALUE COUNT(1) FROM c"), [own.length]);
        assert.deepEqual(await inKey("SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n"), own.slice(0, 2));
        assert.deepEqual(await inKey("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 1 LIMIT 2"), own.slice(1, 3));
      }
    });

    test("across keys only when allowed", async () => {
      const alone = (text) => toArray(client.queryDocuments(parent.link, text));
      for (const text of ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n", "SELECT VALUE COUNT(1) FROM c"]) {
        const error = await refuses(400, alone(text));
        assert.match(JSON.parse(error.body).message, /Cross partition query is required but disabled\./);
      }
      assert.deepEqual(await alone("SELECT VALUE c.n FROM c WHERE c.pk = 'k6' ORDER BY c.n"), [6, 13, 20, 27]);
      assert.deepEqual(await alone("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'k6'"), [4]);
    });

    test("the refusal carries the plan", async () => {
      const { error } = await firstAnswer(parent, "SELECT * FROM c WHERE c.m > 1 ORDER BY c.n DESC", cross);
      assert.equal(error.code, 400);
      assert.equal(error.substatus, 1004);
      const plan = JSON.parse(JSON.parse(error.body).additionalErrorInfo);
      assert.deepEqual(plan.queryInfo.orderBy, ["Descending"]);
      assert.match(plan.queryInfo.rewrittenQuery, /\{documentdb-formattableorderbyquery-filter\}/);
      assert.deepEqual(plan.queryRanges, [{ min: "", max: "FF", isMinInclusive: true, isMaxInclusive: false }]);
    });
  });
}

describe("queries over resources", () => {
  test("databases, collections and offers", async () => {
    const parent = await collection(undefined, { offerThroughput: 700 });
    const spec = (query, value) => ({ query, parameters: [{ name: "@value", value }] });
    const databases = await toArray(client.queryDatabases(spec("SELECT * FROM d WHERE d.id = @value", databaseId)));
    assert.deepEqual(databases, [(await client.readDatabase(databaseLink)).result]);
    const collections = await toArray(client.queryCollections(databaseLink, spec("SELECT * FROM c WHERE c.id = @value", parent.id)));
    assert.deepEqual(collections, [(await client.readCollection(parent.link)).result]);
    const bySelf = await toArray(client.queryCollections(databases[0]._self, spec("SELECT VALUE c.id FROM c WHERE c.id = @value", parent.id)));
    assert.deepEqual(bySelf, [parent.id]);

    for (const [text, value] of [
      ["SELECT * FROM root r WHERE r.resource = @value", parent._self],
      ["SELECT * FROM root r WHERE r.offerResourceId = @value", parent._rid],
    ]) {
      const [offer, ...more] = await toArray(client.queryOffers(spec(text, value)));
      assert.deepEqual(more, []);
      assert.deepEqual(offer, (await client.readOffer(offer._self)).result);
    }
    const [offer] = await toArray(client.queryOffers(spec("SELECT * FROM r WHERE r.resource = @value", parent._self)));
    assert.equal(offer.content.offerThroughput, 700);
    offer.content.offerThroughput = 900;
    await client.replaceOffer(offer._self, offer);
    const values = await toArray(client.queryOffers(spec("SELECT VALUE r.content.offerThroughput FROM r WHERE r.resource = @value", parent._self)));
    assert.deepEqual(values, [900]);
    assert.deepEqual(await toArray(client.queryDatabases(spec("SELECT * FROM d WHERE d.id = @value", randomUUID()))), []);
  });
});

describe("indexes of old", () => {
  test("definitions with kinds and precisions serve every query", async () => {
    const indexes = [{ kind: "Hash", dataType: "String", precision: 3 }, { kind: "Range", dataType: "Number", precision: -1 }];
    const parent = await collection(["/pk"], {}, { indexingPolicy: { includedPaths: [{ path: "/*", indexes }] } });
    const query = (text) => toArray(client.queryDocuments(parent.link, text, { enableCrossPartitionQuery: true }));
    assert.deepEqual(sorted(await query("SELECT VALUE c.n FROM c WHERE c.word = 'w1' AND c.n < 10")), [1, 5, 9]);
    assert.deepEqual(sorted(await query("SELECT VALUE c.n FROM c WHERE c.word > 'w2'")), numbers.filter((n) => n % 4 === 3));
    assert.deepEqual(await query("SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC"), [29, 28, 27]);
  });

  test("excluded paths cannot be sorted by", async () => {
    const indexingPolicy = { includedPaths: [{ path: "/*" }], excludedPaths: [{ path: '/"word"/?' }] };
    const parent = await collection(["/pk"], {}, { indexingPolicy });
    const query = (text, options = {}) => toArray(client.queryDocuments(parent.link, text, { enableCrossPartitionQuery: true, ...options }));
    const error = await refuses(400, query("SELECT * FROM c ORDER BY c.word"));
    assert.match(JSON.parse(error.body).message, /The index path corresponding to the specified order-by item is excluded\./);
    assert.deepEqual(sorted(await query("SELECT VALUE c.n FROM c WHERE c.word = 'w3' AND c.n > 20", { enableScanInQuery: true })), [23, 27]);
  });
});
