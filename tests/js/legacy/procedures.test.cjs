// Stored procedures and triggers with the 2017 package, on collections with and without a key.

"use strict";

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { after, before, describe, test } = require("node:test");
const { UriFactory } = require("documentdb");
const { connect, refuses, toArray } = require("./client.cjs");

const client = connect();
const databaseId = `procedures-${randomUUID()}`;
const databaseLink = UriFactory.createDatabaseUri(databaseId);

before(() => client.createDatabase({ id: databaseId }));
after(() => client.deleteDatabase(databaseLink));

function source(name) {
  return readFileSync(join(__dirname, `../../support/scripts/${name}.js`), "utf8");
}

async function collection(id, path) {
  const body = { id };
  if (path) body.partitionKey = { paths: [path], kind: "Hash" };
  await client.createCollection(databaseLink, body);
  return UriFactory.createDocumentCollectionUri(databaseId, id);
}

/** Registers a shared procedure, in the words of the time, and returns its link. */
async function procedure(link, name) {
  const { result } = await client.createStoredProcedure(link, { id: name, serverScript: source(name) });
  assert.equal(result.body, source(name));
  return `${link}/sprocs/${name}`;
}

async function trigger(link, id, triggerType, triggerOperation) {
  await client.createTrigger(link, { id, serverScript: source(id), triggerType, triggerOperation });
}

// Without a key a script works on the whole collection.
for (const [name, path, options] of [
  ["without a key", undefined, {}],
  ["with a key", "/pk", { partitionKey: "a" }],
]) {
  describe(`a collection ${name}`, () => {
    let link;
    const call = async (procedureName, parameters) =>
      (await client.executeStoredProcedure(`${link}/sprocs/${procedureName}`, parameters, options)).result;
    const all = () => toArray(client.queryDocuments(link, "SELECT * FROM c", options));

    before(async () => {
      link = await collection(name.replaceAll(" ", "-"), path);
      for (const each of ["helloWorld", "swapItems", "bulkImport", "bulkDelete", "count", "sum", "update", "talk"]) {
        await procedure(link, each);
      }
      await trigger(link, "addTimestamps", "pre", "all");
      await trigger(link, "uniqueName", "pre", "all");
      await trigger(link, "updateMetadata", "post", "create");
    });

    test("hello world, by name and by self link", async () => {
      assert.equal(await call("helloWorld", "2017"), "Hello, 2017");
      assert.equal(await call("helloWorld", []), "Hello, World");
      const { result: self } = await client.readStoredProcedure(`${link}/sprocs/helloWorld`);
      assert.equal((await client.executeStoredProcedure(self._self, ["rid"], options)).result, "Hello, rid");
    });

    test("import, count, sum, update, swap, delete", async () => {
      const documents = Array.from({ length: 30 }, (_, n) => ({ id: `d${n}`, pk: "a", n, item: `item ${n}` }));
      assert.equal(await call("bulkImport", [documents]), 30);
      assert.deepEqual(await call("count", ["SELECT * FROM c WHERE c.n < 20"]), { count: 20 });
      assert.deepEqual(await call("sum", ["n"]), { sum: 435, count: 30 });
      const updated = await call("update", ["d3", { $inc: { n: 7 }, $push: { tags: "x" } }]);
      assert.deepEqual([updated.n, updated.tags], [10, ["x"]]);
      await refuses(400, call("update", ["d3", { $inc: { n: 7 } }, '"stale"']));
      assert.equal(await call("swapItems", ["d1", "d2"]), true);
      const items = Object.fromEntries((await all()).map(({ id, item }) => [id, item]));
      assert.deepEqual([items.d1, items.d2, items.d3], ["item 2", "item 1", "item 3"]);
      assert.deepEqual(await call("bulkDelete", ["SELECT * FROM c"]), { deleted: 30, continuation: false });
      assert.deepEqual(await all(), []);
    });

    test("triggers", async () => {
      const timed = { preTriggerInclude: "addTimestamps", postTriggerInclude: ["updateMetadata"] };
      const { result } = await client.createDocument(link, { id: "t1", pk: "a", size: 4 }, timed);
      assert.equal(result.by, "Create");
      assert.ok(result.created);
      await refuses(400, client.createDocument(link, { id: "t2", pk: "a" }, timed));
      const once = { preTriggerInclude: "uniqueName" };
      await client.createDocument(link, { id: "t3", pk: "a", name: "ada" }, once);
      await refuses(400, client.createDocument(link, { id: "t4", pk: "a", name: "ada" }, once));
      const ids = (await all()).map(({ id }) => id).sort();
      assert.deepEqual(ids, ["_metadata", "name-ada", "t1", "t3"]);
      await refuses(400, client.createDocument(link, { id: "t5", pk: "a" }, { preTriggerInclude: "unknown" }));
    });

    test("the log", async () => {
      const logged = { ...options, enableScriptLogging: true };
      const { headers } = await client.executeStoredProcedure(`${link}/sprocs/talk`, ["Zoë"], logged);
      assert.match(decodeURIComponent(headers["x-ms-documentdb-script-log-results"]), /^Hello Zoë, you are number 7\./);
    });

    test("errors", async () => {
      const failure = await refuses(400, call("talk", ["Zoë", true]));
      assert.match(JSON.parse(failure.body).message, /Exception = Error: I was told to fail\./);
      assert.equal(failure.headers?.["x-ms-substatus"] ?? failure.substatus, "418");
      await refuses(404, call("unknown", []));
    });
  });
}

test("a key must be named where there is one", async () => {
  const link = await collection("keyed", "/pk");
  const hello = await procedure(link, "helloWorld");
  await refuses(400, client.executeStoredProcedure(hello, []));
});
