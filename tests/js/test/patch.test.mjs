// Patches: the SDK sends the operations alone or with a condition, and names no content type.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, refuses, temporaryDatabase, unique, withoutSystem } from "../lib/account.mjs";

const client = connect();
let database;
let items;

before(async () => {
  database = await temporaryDatabase(client);
  const key = { paths: ["/pk"], version: 2 };
  items = (await database.containers.create({ id: unique("c"), partitionKey: key })).container;
});
after(() => database.delete());

async function item(members) {
  const id = unique("i");
  await items.items.create({ id, pk: "p", ...members });
  return items.item(id, "p");
}

describe("patch", () => {
  test("all operations, in order", async () => {
    const one = await item({ n: 1, old: true, tags: ["b"], nested: { "a/b": 1 } });
    const patched = await one.patch([
      { op: "add", path: "/tags/0", value: "a" },
      { op: "add", path: "/tags/-", value: "d" },
      { op: "set", path: "/tags/2", value: "c" },
      { op: "replace", path: "/nested/a~1b", value: null },
      { op: "remove", path: "/old" },
      { op: "incr", path: "/n", value: 0.5 },
      { op: "incr", path: "/fresh", value: -3 },
      { op: "move", from: "/nested", path: "/moved" },
    ]);
    assert.equal(patched.statusCode, 200);
    assert.deepEqual(withoutSystem(patched.resource), {
      id: one.id,
      pk: "p",
      n: 1.5,
      tags: ["a", "b", "c"],
      fresh: -3,
      moved: { "a/b": null },
    });
    assert.equal(patched.etag, patched.resource._etag);
    assert.ok(patched.requestCharge > 0);
    assert.deepEqual((await one.read()).resource, patched.resource);
  });

  test("a condition", async () => {
    const one = await item({ n: 1 });
    const body = { condition: "from c where c.n = 1", operations: [{ op: "incr", path: "/n", value: 1 }] };
    assert.equal((await one.patch(body)).resource.n, 2);
    await refuses(412, () => one.patch(body), 1110);
    await refuses(400, () => one.patch({ ...body, condition: "from c where" }));
    assert.equal((await one.read()).resource.n, 2);
  });

  test("a version", async () => {
    const one = await item({ n: 1 });
    const { etag } = await one.read();
    const accessCondition = { type: "IfMatch", condition: etag };
    const increment = [{ op: "incr", path: "/n", value: 1 }];
    await one.patch(increment, { accessCondition });
    await refuses(412, () => one.patch(increment, { accessCondition }));
  });

  test("refusals leave the item as it was", async () => {
    const one = await item({ n: 1, text: "t" });
    const before = (await one.read()).resource;
    for (const operation of [
      { op: "set", path: "/id", value: "x" },
      { op: "set", path: "/pk", value: "x" },
      { op: "set", path: "/_ts", value: 1 },
      { op: "remove", path: "/absent" },
      { op: "replace", path: "/absent", value: 1 },
      { op: "add", path: "/absent/x", value: 1 },
      { op: "incr", path: "/text", value: 1 },
      { op: "set", path: "/undefined", value: undefined },
    ]) {
      const set = { op: "set", path: "/n", value: 2 };
      await refuses(400, () => one.patch([set, operation]));
    }
    const eleven = Array.from({ length: 11 }, () => ({ op: "incr", path: "/n", value: 1 }));
    await refuses(400, () => one.patch(eleven));
    assert.deepEqual((await one.read()).resource, before);
    await refuses(404, () => items.item(unique("absent"), "p").patch([{ op: "set", path: "/n", value: 1 }]));
  });

  test("increments at the same time all count", async () => {
    const one = await item({ n: 0 });
    const increment = () => one.patch([{ op: "incr", path: "/n", value: 1 }]);
    await Promise.all(Array.from({ length: 50 }, increment));
    assert.equal((await one.read()).resource.n, 50);
  });
});
