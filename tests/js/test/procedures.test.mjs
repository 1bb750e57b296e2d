// Stored procedures: the patterns of the service's samples.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { allItems, connect, refuses, temporaryDatabase, unique, withoutSystem } from "../lib/account.mjs";
import { procedure, source } from "../lib/scripts.mjs";
import { Server } from "../lib/server.mjs";

const client = connect();
let database;
let container;
const call = {};

before(async () => {
  database = await temporaryDatabase(client);
  container = await create("/pk");
  const names = ["helloWorld", "createDocument", "swapItems", "bulkImport", "bulkDelete", "count", "sum", "update", "copyAll"];
  for (const name of names) call[name] = await procedure(container, name);
});
after(() => database.delete());

async function create(path, options = {}) {
  const definition = { id: unique("c"), partitionKey: { paths: [path], version: 2 }, ...options };
  return (await database.containers.create(definition)).container;
}

async function stored(partitionKey, from = container) {
  return (await allItems(from, { partitionKey })).map(withoutSystem);
}

/** A key that no other test uses, with these items. */
async function key(...items) {
  const pk = unique("key");
  for (const item of items) await container.items.create({ pk, ...item });
  return pk;
}

describe("first steps", () => {
  test("hello world", async () => {
    assert.equal(await call.helloWorld("any"), "Hello, World");
    assert.equal(await call.helloWorld("any", "Ünï 🦀"), "Hello, Ünï 🦀");
  });

  test("a function as it is written here", async () => {
    const body = function greet(prefix, names) {
      getContext().getResponse().setBody(names.map((name) => `${prefix} ${name}`));
    };
    await container.scripts.storedProcedures.create({ id: "greet", body });
    const { resource, statusCode, requestCharge } = await container.scripts
      .storedProcedure("greet").execute("any", ["Hi", ["Ann", "Bob"]]);
    assert.deepEqual([resource, statusCode], [["Hi Ann", "Hi Bob"], 200]);
    assert.ok(requestCharge >= 4.6);
  });

  test("create a document and return its id", async () => {
    const pk = await key();
    assert.equal(await call.createDocument(pk, { id: "mine", pk, n: 1 }), "mine");
    const made = await call.createDocument(pk, { pk, n: 2 });
    assert.match(made, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.equal((await container.item(made, pk).read()).resource.n, 2);
    await refuses(400, () => call.createDocument(pk, { id: "mine", pk }), 409);
  });

  test("items without a key value have one in common", async () => {
    assert.equal(await call.createDocument(undefined, { id: "keyless" }), "keyless");
    assert.equal((await container.item("keyless", undefined).read()).resource.id, "keyless");
  });
});

describe("transactions", () => {
  test("two players swap their items", async () => {
    const pk = await key({ id: "ann", item: "sword" }, { id: "bob", item: "shield" }, { id: "cid" });
    assert.equal(await call.swapItems(pk, "ann", "bob"), true);
    const after = await stored(pk);
    assert.deepEqual(after.map(({ item }) => item), ["shield", "sword", undefined]);
    await refuses(400, () => call.swapItems(pk, "ann", "cid"), 400);
    const failure = await refuses(400, () => call.swapItems(pk, "ann", "dan"), 404);
    assert.match(failure.message, /There is no player dan\./);
    assert.deepEqual(await stored(pk), after);
  });

  test("swaps at the same time lose nothing", async () => {
    const ids = ["p0", "p1", "p2", "p3"];
    const pk = await key(...ids.map((id) => ({ id, item: `item of ${id}` })));
    const swaps = Array.from({ length: 40 }, (_, n) => [ids[n % 4], ids[(n + 1 + n % 3) % 4]]);
    await Promise.all(swaps.map((pair) => call.swapItems(pk, ...pair)));
    const held = (await stored(pk)).map(({ item }) => item).sort();
    assert.deepEqual(held, ids.map((id) => `item of ${id}`));
  });

  test("the seeds' SetLatestStateAcrossReadings", async () => {
    const devices = await create("/deviceId");
    const latest = await procedure(devices, "SetLatestStateAcrossReadings", source("setLatestStateAcrossReadings"));
    let state;
    for (const [end, metricType, metricValue, minute] of [
      ["FE24C", "Temperature", 105, 10],
      ["FE24D", "Humidity", 41, 11],
      ["FE24E", "Temperature", 104, 12],
      ["FE24F", "Temperature", 99, 5],
    ]) {
      const id = `XMS-001-${end}`;
      const readingTime = new Date(Date.UTC(2016, 9, 1, 12, minute)).toISOString();
      await devices.items.create({ id, deviceId: "XMS-0001", metricType, metricValue, unit: "u", readingTime });
      state = await latest("XMS-0001", id);
    }
    assert.deepEqual(state, (await devices.item("state-of-XMS-0001", "XMS-0001").read()).resource);
    assert.equal(state.readings, 4);
    assert.equal(state.latest.Temperature.readingId, "XMS-001-FE24E");
    assert.equal(state.latest.Temperature.metricValue, 104);
    assert.equal(state.latest.Humidity.metricValue, 41);
    // The key of the seed's example is not that of its data: there the reading is not.
    await refuses(400, () => latest("XMS-001", "XMS-001-FE24C"), 404);
  });

  test("a book and its authors", async () => {
    const books = await create("/publisher");
    const publish = await procedure(books, "publishBook");
    for (const id of ["a1", "a2"]) await books.items.create({ id, publisher: "p", countOfBooks: 0, books: [] });
    const book = (id, ...authors) => ({ id, publisher: "p", authors: authors.map((author) => ({ id: author })) });
    assert.deepEqual(await publish("p", book("b1", "a1", "a2")), {
      book: "b1",
      authors: [{ id: "a1", countOfBooks: 1 }, { id: "a2", countOfBooks: 1 }],
    });
    assert.equal((await publish("p", book("b2", "a2"))).authors[0].countOfBooks, 2);
    const after = await stored("p", books);
    assert.deepEqual(after.slice(0, 2).map((author) => author.books), [["b1"], ["b1", "b2"]]);
    // The book is inserted and one author counted before the other is missed.
    await refuses(400, () => publish("p", book("b3", "a1", "a9")), 404);
    await refuses(400, () => publish("p", book("b1", "a2")), 409);
    assert.deepEqual(await stored("p", books), after);
  });

  test("functions in the query of a procedure", async () => {
    await container.scripts.userDefinedFunctions.create({ id: "tax", body: source("tax") });
    const taxed = await procedure(container, "taxed");
    const pk = await key({ id: "500", income: 500 }, { id: "5000", income: 5000 });
    const rows = await taxed(pk, { id: "50000", pk, income: 50000 }, 1000);
    assert.deepEqual(rows, [{ id: "5000", tax: 1000 }, { id: "50000", tax: 20000 }]);
    // What the function throws is the query's error, and here the end of the transaction.
    const failure = await refuses(400, () => taxed(pk, { id: "text", pk, income: "much" }, 1000), 400);
    assert.match(failure.message, /An income must be a number\./);
    assert.deepEqual((await stored(pk)).map(({ id }) => id), ["500", "5000", "50000"]);
  });

  test("async functions and promises", async () => {
    const pk = await key({ id: "0" }, { id: "1" }, { id: "2" });
    assert.deepEqual(await call.copyAll(pk, ["0", "2"], "-copy"), ["0-copy", "2-copy"]);
    await refuses(400, () => call.copyAll(pk, ["1", "9"], "-copy"), 404);
    await refuses(400, () => call.copyAll(pk, ["1", "0"], "-copy"), 409);
    assert.deepEqual((await stored(pk)).map(({ id }) => id), ["0", "1", "2", "0-copy", "2-copy"]);
  });
});

describe("many documents", () => {
  test("import", async () => {
    const pk = await key();
    const items = Array.from({ length: 250 }, (_, n) => ({ id: String(n).padStart(3, "0"), pk, n }));
    assert.equal(await call.bulkImport(pk, items), 250);
    assert.deepEqual(await stored(pk), items);
    await refuses(400, () => call.bulkImport(pk, [{ id: "new", pk }, items[7]]), 409);
    assert.equal((await stored(pk)).length, 250);
  });

  test("import with little throughput, in several calls", async () => {
    const server = await Server.create();
    try {
      const own = connect({ endpoint: server.endpoint });
      const { database: little } = await own.databases.create({ id: "little" });
      const definition = { id: "c", partitionKey: { paths: ["/pk"], version: 2 }, throughput: 400 };
      const { container: slow } = await little.containers.create(definition);
      const bulkImport = await procedure(slow, "bulkImport");
      // A script may spend five seconds' worth: 2,000 RU here, of some 48 for each of these.
      const values = Array.from({ length: 100 }, (_, n) => n);
      const items = Array.from({ length: 60 }, (_, n) => ({ id: `i${n}`, pk: "a", values }));
      const counts = [];
      let done = 0;
      while (done < items.length) {
        // While the debt is paid off the answer is 429, and the SDK waits as it is told.
        const count = await bulkImport("a", items.slice(done));
        assert.ok(count > 0 && count < items.length, `${count} of ${items.length}`);
        counts.push(count);
        done += count;
      }
      assert.ok(counts.length > 1);
      assert.equal(done, items.length);
      assert.deepEqual((await stored("a", slow)).map(({ id }) => id), items.map(({ id }) => id));
    } finally {
      await server.destroy();
    }
  });

  test("delete", async () => {
    const pk = await key(...Array.from({ length: 50 }, (_, n) => ({ id: `i${n}`, n })));
    const query = "SELECT * FROM c WHERE c.n < 45";
    assert.deepEqual(await call.bulkDelete(pk, query), { deleted: 45, continuation: false });
    assert.deepEqual((await stored(pk)).map(({ n }) => n), [45, 46, 47, 48, 49]);
    assert.deepEqual(await call.bulkDelete(pk, query), { deleted: 0, continuation: false });
  });

  test("count and sum", async () => {
    const pk = await key(...Array.from({ length: 30 }, (_, n) => ({ id: `i${n}`, n: n % 3 === 0 ? "x" : n })));
    assert.equal((await call.count(pk, "SELECT * FROM c")).count, 30);
    assert.equal((await call.count(pk, "SELECT VALUE c.n FROM c WHERE IS_NUMBER(c.n)")).count, 20);
    // In several calls, each of which goes on where the one before it stopped.
    const counts = [];
    let continuation;
    do {
      const answer = await call.count(pk, "SELECT * FROM c", continuation, 2);
      counts.push(answer.count);
      continuation = answer.continuation;
    } while (continuation);
    assert.deepEqual(counts, [14, 14, 2]);
    assert.deepEqual(await call.sum(pk, "n"), { sum: 300, count: 20 });
    assert.deepEqual(await call.sum(pk, "absent"), { sum: 0, count: 0 });
  });
});

describe("update", () => {
  const before = { n: 10, text: "abc", tags: ["a", "b"] };

  for (const [operators, changed] of [
    [{ $inc: { n: 2, fresh: 3 } }, { n: 12, fresh: 3 }],
    [{ $mul: { n: 1.5 } }, { n: 15 }],
    [{ $rename: { text: "words" } }, { text: undefined, words: "abc" }],
    [{ $set: { n: { deep: [1] } } }, { n: { deep: [1] } }],
    [{ $unset: { n: "" } }, { n: undefined }],
    [{ $min: { n: 3, fresh: 4 } }, { n: 3, fresh: 4 }],
    [{ $max: { n: 3, fresh: 4 } }, { fresh: 4 }],
    [{ $addToSet: { tags: "b" } }, {}],
    [{ $addToSet: { tags: "c" } }, { tags: ["a", "b", "c"] }],
    [{ $pop: { tags: 1 } }, { tags: ["a"] }],
    [{ $pop: { tags: -1 } }, { tags: ["b"] }],
    [{ $push: { tags: "b" } }, { tags: ["a", "b", "b"] }],
    [{ $inc: { n: 1 }, $mul: { n: 2 }, $push: { tags: "c" } }, { n: 22, tags: ["a", "b", "c"] }],
  ]) {
    test(JSON.stringify(operators), async () => {
      const pk = await key({ id: "one", ...before });
      const { etag } = await container.item("one", pk).read();
      const answer = await call.update(pk, "one", operators, etag);
      assert.notEqual(answer._etag, etag);
      assert.deepEqual(answer, (await container.item("one", pk).read()).resource);
      const expected = JSON.parse(JSON.stringify({ id: "one", pk, ...before, ...changed }));
      assert.deepEqual(withoutSystem(answer), expected);
    });
  }

  test("the current date", async () => {
    const pk = await key({ id: "one" });
    const earliest = Date.now();
    const { at, stamp } = await call.update(pk, "one", { $currentDate: { at: true, stamp: "timestamp" } });
    assert.ok(earliest <= Date.parse(at) && Date.parse(at) <= Date.now(), at);
    assert.ok(earliest <= stamp && stamp <= Date.now());
  });

  test("only the version that is named", async () => {
    const pk = await key({ id: "one", n: 1 });
    const { etag } = await container.item("one", pk).read();
    const changed = await call.update(pk, "one", { $inc: { n: 1 } }, etag);
    await refuses(400, () => call.update(pk, "one", { $inc: { n: 1 } }, etag), 412);
    assert.deepEqual((await container.item("one", pk).read()).resource, changed);
  });

  test("what does not fit", async () => {
    const pk = await key({ id: "one", text: "abc" });
    for (const operators of [{ $inc: { text: 1 } }, { $push: { text: 1 } }, { $set: { n: 1 }, $sort: { n: 1 } }]) {
      await refuses(400, () => call.update(pk, "one", operators), 400);
    }
    await refuses(400, () => call.update(pk, "another", { $set: { n: 1 } }), 404);
    assert.deepEqual(await stored(pk), [{ pk, id: "one", text: "abc" }]);
  });

  test("increments at the same time all count", async () => {
    const pk = await key({ id: "one", n: 0 });
    await Promise.all(Array.from({ length: 40 }, () => call.update(pk, "one", { $inc: { n: 1 } })));
    assert.equal((await container.item("one", pk).read()).resource.n, 40);
  });
});
