// What scripts are given and answer, what they log, and how they fail.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { allItems, connect, refuses, temporaryDatabase, unique } from "../lib/account.mjs";
import { procedure, source } from "../lib/scripts.mjs";

const client = connect();
let database;
let container;

before(async () => {
  database = await temporaryDatabase(client);
  const definition = { id: unique("c"), partitionKey: { paths: ["/pk"], version: 2 } };
  container = (await database.containers.create(definition)).container;
});
after(() => database.delete());

/** Runs the body of a function once. */
async function run(key, body, ...parameters) {
  const call = await procedure(container, unique("p"), `function (...args) { ${body} }`);
  return call(key, ...parameters);
}

const WRITE = "__.createDocument(__.getSelfLink(), { id: 'x', pk: args[0] });";

describe("arguments and results", () => {
  for (const value of ["text", "", "7", 7, -0.5, true, false, null, [], ["a", { b: null }], { ü: "🦀" }]) {
    test(JSON.stringify(value), async () => {
      assert.deepEqual(await run("any", "__.response.setBody(args);", value, value), [value, value]);
      assert.deepEqual(await run("any", "__.response.setBody(args[0]);", value), value);
    });
  }

  test("none", async () => {
    for (const body of ["", "__.response.setBody(undefined);", "return 7;"]) {
      assert.ok(!(await run("any", body)), body);
    }
    assert.equal(await run("any", "__.response.setBody(args.length);"), 0);
    const id = unique("p");
    await procedure(container, id, "(...args) => __.response.setBody(args)");
    const own = container.scripts.storedProcedure(id);
    assert.deepEqual((await own.execute("any")).resource, []);
    assert.deepEqual((await own.execute("any", "one")).resource, ["one"]);
  });
});

describe("the log", () => {
  const header = "x-ms-documentdb-script-log-results";
  let talk;
  before(async () => {
    await container.scripts.storedProcedures.create({ id: "talk", body: source("talk") });
    talk = container.scripts.storedProcedure("talk");
  });

  test("when it is asked for", async () => {
    const { headers } = await talk.execute("any", ["Zoë"], { enableScriptLogging: true });
    assert.equal(decodeURIComponent(headers[header]), 'Hello Zoë, you are number 7.\n{"größe":[1,2]}');
    assert.equal((await talk.execute("any", ["Zoë"])).headers[header], undefined);
  });

  test("of a failure", async () => {
    const call = () => talk.execute("any", ["Zoë", true], { enableScriptLogging: true });
    const failure = await refuses(400, call, 418);
    assert.match(decodeURIComponent(failure.headers[header]), /^Hello Zoë/);
  });
});

describe("failures", () => {
  async function refusesToRun(status, body, substatus) {
    const pk = unique("key");
    const failure = await refuses(status, () => run(pk, `${WRITE} ${body}`, pk), substatus);
    assert.deepEqual(await allItems(container, { partitionKey: pk }), []);
    return failure;
  }

  test("a throw", async () => {
    const failure = await refusesToRun(400, "throw new Error('no gold');");
    assert.match(failure.message, /Encountered exception while executing Javascript\. Exception = Error: no gold/);
    for (const number of [404, 409, 449, 4711]) {
      await refusesToRun(400, `throw new Error(${number}, 'no gold');`, number);
    }
    for (const thrown of ["'text'", "null", "undefined", "{ why: 1 }"]) await refusesToRun(400, `throw ${thrown};`);
    await refusesToRun(400, "getContext().abort(new Error(403, 'no'));", 403);
  });

  test("an operation that fails without a callback", async () => {
    await refusesToRun(400, `try { ${WRITE} } catch (e) { }`, 409);
  });

  test("an operation that fails with a callback", async () => {
    const body = "__.readDocument(__.getAltLink() + '/docs/no', (e, d) => __.response.setBody([e.number, d === undefined]));";
    assert.deepEqual(await run("any", body), [404, true]);
  });

  test("another key inside", async () => {
    await refusesToRun(400, "__.createDocument(__.getSelfLink(), { id: 'y', pk: args[0] + '!' });", 400);
    await container.items.create({ id: "there", pk: "another" });
    const body = "__.readDocument(__.getAltLink() + '/docs/there', (e) => __.response.setBody(e.number));";
    assert.equal(await run("any", body), 404);
    const find = "__.queryDocuments(__.getSelfLink(), 'SELECT * FROM c', (e, found) => __.response.setBody(found));";
    assert.deepEqual(await run(unique("key"), find), []);
  });

  test("who cannot be called", async () => {
    await refuses(404, () => container.scripts.storedProcedure("unknown").execute("any"));
    // Two values where the key has one level.
    await refuses(400, () => run(["a", "b"], ""));
  });

  test("time runs out", async () => {
    const failure = await refusesToRun(408, "try { for (;;); } catch (e) { }");
    assert.match(failure.message ?? failure.body.message, /execution time/);
  });

  test("memory and stack run out", async () => {
    await refusesToRun(403, "const all = []; for (;;) all.push('x'.repeat(1000) + all.length);");
    await refusesToRun(400, "(function deep() { deep(); })();");
  });

  test("a rejected promise is swallowed", async () => {
    const pk = unique("key");
    assert.ok(!(await run(pk, `${WRITE} (async () => { throw new Error('nobody hears this'); })();`, pk)));
    assert.equal((await allItems(container, { partitionKey: pk })).length, 1);
  });
});
