// Triggers: scripts that run before and after a write when it names them.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { allItems, connect, refuses, temporaryDatabase, unique, withoutSystem } from "../lib/account.mjs";
import { trigger } from "../lib/scripts.mjs";

const client = connect();
let database;
let container;

before(async () => {
  database = await temporaryDatabase(client);
  container = await create("/pk");
  await trigger(container, "addTimestamps", "Pre");
  await trigger(container, "upperCaseId", "Pre", "Create");
  await trigger(container, "canonicalSchedule", "Pre");
  await trigger(container, "uniqueName", "Pre");
  await trigger(container, "updateMetadata", "Post", "Create");
});
after(() => database.delete());

async function create(path) {
  const definition = { id: unique("c"), partitionKey: { paths: [path], version: 2 } };
  return (await database.containers.create(definition)).container;
}

async function stored(partitionKey, from = container) {
  return (await allItems(from, { partitionKey })).map(withoutSystem);
}

const pre = (name) => ({ preTriggerInclude: name });
const post = (name) => ({ postTriggerInclude: name });

describe("before", () => {
  test("timestamps", async () => {
    const pk = unique("key");
    const { resource: made } = await container.items.create({ id: "one", pk, n: 1 }, pre("addTimestamps"));
    assert.deepEqual(made, (await container.item("one", pk).read()).resource);
    assert.equal(made.created, made.changed);
    assert.deepEqual([made.n, made.by], [1, "Create"]);
    const { resource: replaced } = await container.item("one", pk).replace({ ...made, n: 2 }, pre(["addTimestamps"]));
    assert.deepEqual([replaced.n, replaced.by, replaced.created], [2, "Replace", made.created]);
    assert.ok(replaced.changed >= made.changed);
    const { resource: upserted } = await container.items.upsert(replaced, pre("addTimestamps"));
    assert.deepEqual([upserted.by, upserted.created], ["Upsert", made.created]);
    // Nobody named it, so it does not run.
    const { resource: plain } = await container.items.create({ id: "two", pk });
    assert.equal(plain.created, undefined);
  });

  test("an id in upper case", async () => {
    const pk = unique("key");
    const { resource } = await container.items.create({ id: "straße", pk }, pre("upperCaseId"));
    assert.equal(resource.id, "STRASSE");
    await refuses(409, () => container.items.create({ id: "Strasse", pk }, pre("upperCaseId")));
    assert.deepEqual((await stored(pk)).map(({ id }) => id), ["STRASSE"]);
  });

  test("a schedule in one spelling", async () => {
    const pk = unique("key");
    const schedule = { days: ["Friday", "mon", " FRI ", "Sat"], start: "9", end: "17.30" };
    const { resource } = await container.items.create({ id: "one", pk, schedule }, pre("canonicalSchedule"));
    assert.deepEqual(resource.schedule, { days: ["mon", "fri", "sat"], start: "09:00", end: "17:30" });
    for (const bad of [{ days: ["noday"] }, { start: "25:00" }, { end: "noon" }]) {
      const item = { id: "two", pk, schedule: { ...schedule, ...bad } };
      await refuses(400, () => container.items.create(item, pre("canonicalSchedule")), 400);
    }
    assert.equal((await stored(pk)).length, 1);
  });

  test("unique names by meta documents", async () => {
    const pk = unique("key");
    const once = pre("uniqueName");
    const { resource: one } = await container.items.create({ id: "1", pk, name: "ada" }, once);
    await container.items.create({ id: "2", pk, name: "bob" }, once);
    const failure = await refuses(400, () => container.items.create({ id: "3", pk, name: "ada" }, once), 409);
    assert.match(failure.message, /The name ada is taken\./);
    await refuses(400, () => container.item("1", pk).replace({ ...one, name: "bob" }, once), 409);
    await container.item("1", pk).replace({ ...one, name: "cleo" }, once);
    await container.items.create({ id: "3", pk, name: "ada" }, once);
    const owners = (await stored(pk)).filter(({ isMeta }) => isMeta).map(({ id, owner }) => [id, owner]);
    assert.deepEqual(Object.fromEntries(owners), { "name-bob": "2", "name-cleo": "1", "name-ada": "3" });
    // The write itself fails: nothing is reserved for it.
    await refuses(409, () => container.items.create({ id: "1", pk, name: "dora" }, once));
    assert.equal((await stored(pk)).filter(({ isMeta }) => isMeta).length, 3);
  });

  test("a book needs its authors", async () => {
    const books = await create("/publisher");
    const exist = pre(await trigger(books, "authorsExist", "Pre"));
    for (const id of ["a1", "a2"]) await books.items.create({ id, publisher: "p" });
    const book = { id: "b1", publisher: "p", authors: [{ id: "a1" }, { id: "a2" }] };
    const { resource: made } = await books.items.create(book, exist);
    const wrong = { ...made, authors: [{ id: "a2" }, { id: "a3" }] };
    const failure = await refuses(400, () => books.item("b1", "p").replace(wrong, exist), 404);
    assert.match(failure.message, /The author a3 does not exist\./);
    await refuses(400, () => books.items.upsert({ ...wrong, id: "b2" }, exist), 404);
    await refuses(400, () => books.items.create({ ...book, publisher: "q" }, exist), 404);
    assert.deepEqual((await books.item("b1", "p").read()).resource, made);
    assert.deepEqual(await stored("q", books), []);
  });

  test("a deletion that is refused", async () => {
    const pk = unique("key");
    const body = "function () { throw new Error(403, 'Nothing is deleted here.'); }";
    const keep = pre(await trigger(container, "keep", "Pre", "Delete", body));
    await container.items.create({ id: "one", pk });
    await refuses(400, () => container.item("one", pk).delete(keep), 403);
    assert.equal((await stored(pk)).length, 1);
    await container.item("one", pk).delete();
  });
});

describe("after", () => {
  test("metadata of each creation", async () => {
    const pk = unique("key");
    for (const [id, size] of [["a", 5], ["b", 2], ["c", 9], ["d", 4]]) {
      const { resource } = await container.items.create({ id, pk, size }, post("updateMetadata"));
      assert.equal(resource.size, size);
    }
    const { resource: meta } = await container.item("_metadata", pk).read();
    assert.deepEqual([meta.count, meta.total, meta.min, meta.max], [4, 20, 2, 9]);
    // It is written when the trigger refuses it, and then it is not.
    await refuses(400, () => container.items.create({ id: "x", pk }, post("updateMetadata")), 400);
    assert.equal((await stored(pk)).length, 5);
    assert.deepEqual((await container.item("_metadata", pk).read()).resource, meta);
  });

  test("with one before", async () => {
    const pk = unique("key");
    const both = { ...pre("upperCaseId"), ...post("updateMetadata") };
    const { resource } = await container.items.create({ id: "a", pk, size: 3 }, both);
    assert.equal(resource.id, "A");
    await refuses(400, () => container.items.create({ id: "b", pk }, both), 400);
    assert.deepEqual((await stored(pk)).map(({ id }) => id).sort(), ["A", "_metadata"]);
  });
});

test("names that do not fit", async () => {
  const pk = unique("key");
  const item = { id: "one", pk, size: 1 };
  for (const options of [
    pre("unknown"),
    post("unknown"),
    pre("updateMetadata"),
    post("addTimestamps"),
    pre(["addTimestamps", "upperCaseId"]),
  ]) {
    await refuses(400, () => container.items.create(item, options));
  }
  await container.items.create(item);
  await refuses(400, () => container.item("one", pk).replace(item, post("updateMetadata")));
  await refuses(400, () => container.item("one", pk).delete(pre("upperCaseId")));
  assert.deepEqual(await stored(pk), [item]);
});
