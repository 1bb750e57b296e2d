// Items: the operations, their conditions, their keys, their feeds, their errors.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { allItems, connect, feed, pagesOf, refuses, temporaryDatabase, unique, withoutSystem } from "../lib/account.mjs";

const client = connect();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

async function container(definition = {}) {
  const created = await database.containers.create({
    id: unique("c"),
    partitionKey: { paths: ["/pk"], version: 2 },
    ...definition,
  });
  return created.container;
}

describe("operations", () => {
  test("create, read, replace, upsert, delete", async () => {
    const items = await container();
    const body = { id: "a", pk: "p", n: 1, nested: { list: [1, "two", null, { deep: true }] } };

    const created = await items.items.create(body);
    assert.equal(created.statusCode, 201);
    assert.deepEqual(withoutSystem(created.resource), body);
    assert.equal(created.etag, created.resource._etag);
    assert.equal(created.resource._attachments, "attachments/");
    const { resource: owner } = await items.read();
    assert.equal(created.resource._self, `${owner._self}docs/${created.resource._rid}/`);
    assert.ok(Number.isInteger(created.resource._ts));
    assert.ok(created.requestCharge > 0);

    const read = await items.item("a", "p").read();
    assert.equal(read.statusCode, 200);
    assert.deepEqual(read.resource, created.resource);
    assert.equal(read.etag, created.etag);
    assert.ok(read.requestCharge > 0 && read.requestCharge < created.requestCharge);

    const replaced = await items.item("a", "p").replace({ id: "a", pk: "p", n: 2 });
    assert.equal(replaced.statusCode, 200);
    assert.deepEqual(withoutSystem(replaced.resource), { id: "a", pk: "p", n: 2 });
    assert.equal(replaced.resource._rid, created.resource._rid);
    assert.notEqual(replaced.etag, created.etag);

    const over = await items.items.upsert({ id: "a", pk: "p", n: 3 });
    assert.equal(over.statusCode, 200);
    assert.equal(over.resource.n, 3);
    assert.equal(over.resource._rid, created.resource._rid);
    const fresh = await items.items.upsert({ id: "b", pk: "p" });
    assert.equal(fresh.statusCode, 201);

    const deleted = await items.item("a", "p").delete();
    assert.equal(deleted.statusCode, 204);
    const gone = await items.item("a", "p").read();
    assert.equal(gone.statusCode, 404);
    assert.equal(gone.resource, undefined);
  });

  test("an id is made when the body has none", async () => {
    const items = await container();
    const { resource } = await items.items.create({ pk: "p" });
    assert.equal((await items.item(resource.id, "p").read()).statusCode, 200);
  });

  test("system properties in a body are the server's to set", async () => {
    const items = await container();
    const { resource } = await items.items.create({ id: "a", pk: "p", _rid: "x", _self: "y", _etag: "z", _ts: 1 });
    for (const [name, sent] of Object.entries({ _rid: "x", _self: "y", _etag: "z", _ts: 1 })) {
      assert.notEqual(resource[name], sent);
    }
  });

  test("values make the round trip", async () => {
    const items = await container();
    const body = {
      id: "values",
      pk: "p",
      empty: "",
      escapes: 'quote " backslash \\ newline \n tab \t nul \u0000 separator \u2028',
      unicode: "Größe 数据 🦀 \u{10FFFF}",
      numbers: [0, -1, 1.5, 1e300, -1e-300, 9007199254740991, 0.1],
      zero: -0,
      nothing: null,
      yes: true,
      list: [],
      object: {},
      "a key with spaces": { "": "empty name", "ключ": 1 },
      date: "2026-01-01T00:00:00Z",
    };
    const { resource } = await items.items.create(body);
    assert.deepEqual(withoutSystem(resource), JSON.parse(JSON.stringify(body)));
    assert.deepEqual(Object.keys(withoutSystem(resource)), Object.keys(body));
    const { resource: read } = await items.item("values", "p").read();
    assert.deepEqual(read, resource);
  });

  test("ids of every kind", async () => {
    const items = await container();
    const ids = [
      "simple", "with space", "größe", "数据", "🦀🦀", "a%20b", "100%", "a+b&c=d", "semi;colon,comma", "'quoted'",
      '"double"', "<angle>", "under_score-dash.dot~tilde", "@:!$()*[]{}|^`", "x".repeat(255),
    ];
    for (const id of ids) {
      assert.equal((await items.items.create({ id, pk: "p" })).statusCode, 201, id);
      const { resource, statusCode } = await items.item(id, "p").read();
      assert.equal(statusCode, 200, id);
      assert.equal(resource.id, id);
      assert.equal((await items.item(id, "p").replace({ id, pk: "p", n: 1 })).statusCode, 200, id);
    }
    const resources = await allItems(items);
    assert.deepEqual(resources.map(({ id }) => id).sort(), [...ids].sort());
    for (const id of ids) assert.equal((await items.item(id, "p").delete()).statusCode, 204, id);
  });

  test("many writers at once", async () => {
    const items = await container();
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) => items.items.create({ id: `i${n}`, pk: `p${n % 7}`, n })),
    );
    assert.ok(results.every(({ statusCode }) => statusCode === 201));
    const reads = await Promise.all(Array.from({ length: 100 }, (_, n) => items.item(`i${n}`, `p${n % 7}`).read()));
    reads.forEach(({ resource }, n) => assert.equal(resource.n, n));
    assert.equal(new Set(reads.map(({ resource }) => resource._rid)).size, 100);
  });

  test("of many creators of one id a single one succeeds", async () => {
    const items = await container();
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => items.items.create({ id: "one", pk: "p", n })),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    for (const { status, reason } of results) if (status === "rejected") assert.equal(reason.code, 409);
  });
});

describe("conditions", () => {
  test("IfMatch lets the holder of the current etag write", async () => {
    const items = await container();
    const { resource: first } = await items.items.create({ id: "a", pk: "p", n: 1 });
    const { resource: second } = await items
      .item("a", "p")
      .replace({ id: "a", pk: "p", n: 2 }, { accessCondition: { type: "IfMatch", condition: first._etag } });
    assert.equal(second.n, 2);
    const stale = { accessCondition: { type: "IfMatch", condition: first._etag } };
    await refuses(412, () => items.item("a", "p").replace({ id: "a", pk: "p", n: 3 }, stale));
    await refuses(412, () => items.items.upsert({ id: "a", pk: "p", n: 3 }, stale));
    await refuses(412, () => items.item("a", "p").delete(stale));
    assert.equal((await items.item("a", "p").read()).resource.n, 2);
    const current = { accessCondition: { type: "IfMatch", condition: second._etag } };
    assert.equal((await items.item("a", "p").delete(current)).statusCode, 204);
  });

  test("IfMatch * asks only that the item exists", async () => {
    const items = await container();
    const any = { accessCondition: { type: "IfMatch", condition: "*" } };
    await items.items.create({ id: "a", pk: "p" });
    assert.equal((await items.item("a", "p").replace({ id: "a", pk: "p", n: 1 }, any)).statusCode, 200);
    await refuses(404, () => items.item("b", "p").replace({ id: "b", pk: "p" }, any));
  });

  test("IfNoneMatch saves the body of an unchanged item", async () => {
    const items = await container();
    const { resource } = await items.items.create({ id: "a", pk: "p" });
    const known = { accessCondition: { type: "IfNoneMatch", condition: resource._etag } };
    const unchanged = await items.item("a", "p").read(known);
    assert.equal(unchanged.statusCode, 304);
    assert.ok(!unchanged.resource?.id);
    assert.equal(unchanged.headers.etag, resource._etag);
    await items.item("a", "p").replace({ id: "a", pk: "p", n: 1 });
    const changed = await items.item("a", "p").read(known);
    assert.equal(changed.statusCode, 200);
    assert.equal(changed.resource.n, 1);
  });

  test("of many holders of one etag a single one writes", async () => {
    const items = await container();
    const { resource } = await items.items.create({ id: "a", pk: "p" });
    const condition = { accessCondition: { type: "IfMatch", condition: resource._etag } };
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => items.item("a", "p").replace({ id: "a", pk: "p", n }, condition)),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    for (const { status, reason } of results) if (status === "rejected") assert.equal(reason.code, 412);
  });
});

describe("partition keys", () => {
  test("the same id lives under two keys", async () => {
    const items = await container();
    await items.items.create({ id: "a", pk: "p", n: 1 });
    await items.items.create({ id: "a", pk: "q", n: 2 });
    assert.equal((await items.item("a", "p").read()).resource.n, 1);
    assert.equal((await items.item("a", "q").read()).resource.n, 2);
    await items.item("a", "p").delete();
    assert.equal((await items.item("a", "q").read()).statusCode, 200);
    assert.equal((await items.item("a", "r").read()).statusCode, 404);
  });

  test("keys of every type are keys of their own", async () => {
    for (const throughput of [400, 25000]) {
      const items = await container({ throughput });
      const keys = ["", "1", 1, 0, -1, 1.5, 1e300, true, false, null, undefined, "null", "größe 🦀", "x".repeat(1000)];
      for (const pk of keys) {
        const body = { id: "a", type: typeof pk, text: String(pk) };
        if (pk !== undefined) body.pk = pk;
        assert.equal((await items.items.create(body)).statusCode, 201, String(pk));
      }
      for (const pk of keys) {
        const { resource, statusCode } = await items.item("a", pk).read();
        assert.equal(statusCode, 200, String(pk));
        assert.equal(resource.text, String(pk));
        assert.equal(resource.type, typeof pk);
      }
      for (const pk of keys) {
        assert.equal((await items.item("a", pk).delete()).statusCode, 204, String(pk));
      }
      assert.deepEqual(await allItems(items), []);
    }
  });

  test("an empty object at the key's path counts as no key", async () => {
    const items = await container();
    assert.equal((await items.items.create({ id: "a", pk: {} })).statusCode, 201);
    assert.equal((await items.item("a", undefined).read()).statusCode, 200);
    assert.equal((await items.item("a", null).read()).statusCode, 404);
  });

  test("paths: nested, quoted, the id itself", async () => {
    const nested = await container({ partitionKey: "/a/b" });
    await nested.items.create({ id: "x", a: { b: "deep" } });
    assert.equal((await nested.item("x", "deep").read()).statusCode, 200);

    const quoted = await container({ partitionKey: '/"a b"' });
    await quoted.items.create({ id: "x", "a b": "spaced" });
    assert.equal((await quoted.item("x", "spaced").read()).statusCode, 200);

    const byId = await container({ partitionKey: "/id" });
    await byId.items.create({ id: "x" });
    assert.equal((await byId.item("x", "x").read()).statusCode, 200);
    await refuses(409, () => byId.items.create({ id: "x" }));
  });

  test("version 1 of the hash", async () => {
    const items = await container({ partitionKey: { paths: ["/pk"], kind: "Hash", version: 1 }, throughput: 25000 });
    for (let n = 0; n < 30; n += 1) await items.items.create({ id: "a", pk: `k${n}` });
    for (let n = 0; n < 30; n += 1) assert.equal((await items.item("a", `k${n}`).read()).statusCode, 200);
    assert.equal((await allItems(items)).length, 30);
  });

  test("a replace may not change the key", async () => {
    const items = await container();
    await items.items.create({ id: "a", pk: "p" });
    await refuses(400, () => items.item("a", "p").replace({ id: "a", pk: "q" }), 1001);
    assert.equal((await items.item("a", "p").read()).resource.pk, "p");
  });
});

describe("feeds", () => {
  test("pages end, hold what was asked for, and miss nothing", async () => {
    const items = await container();
    const ids = Array.from({ length: 25 }, (_, n) => `i${n}`);
    for (const id of ids) await items.items.create({ id, pk: id });

    const pages = await pagesOf(feed(items, { maxItemCount: 10 }));
    assert.ok(pages.every((page) => page.length <= 10));
    assert.deepEqual(pages.flat().map(({ id }) => id).sort(), [...ids].sort());

    assert.equal((await allItems(items, { maxItemCount: -1 })).length, 25);
  });

  test("a page is a hundred items unless told otherwise", async () => {
    const items = await container();
    await Promise.all(Array.from({ length: 120 }, (_, n) => items.items.create({ id: `i${n}`, pk: "p" })));
    const first = await feed(items).fetchNext();
    assert.equal(first.resources.length, 100);
    assert.ok(first.continuationToken);
  });

  test("a continuation token resumes in another client", async () => {
    const items = await container({ throughput: 25000 });
    for (let n = 0; n < 23; n += 1) await items.items.create({ id: `i${n}`, pk: `k${n}` });
    const seen = [];
    let continuationToken;
    do {
      const other = connect().database(database.id).container(items.id);
      const page = await feed(other, { maxItemCount: 5, continuationToken }).fetchNext();
      seen.push(...page.resources.map(({ id }) => id));
      continuationToken = page.continuationToken;
      assert.ok(seen.length <= 23);
      assert.ok((continuationToken ?? "").length < 1024);
    } while (continuationToken);
    assert.equal(new Set(seen).size, 23);
  });

  test("one key's items only", async () => {
    const items = await container({ throughput: 25000 });
    for (let n = 0; n < 30; n += 1) await items.items.create({ id: `i${n}`, pk: `k${n % 3}` });
    const pages = await pagesOf(feed(items, { partitionKey: "k1", maxItemCount: 4 }));
    assert.ok(pages.every((page) => page.length <= 4));
    assert.deepEqual(pages.flat().map(({ id }) => id), Array.from({ length: 10 }, (_, n) => `i${3 * n + 1}`));
  });

  test("the async iterator", async () => {
    const items = await container();
    for (let n = 0; n < 5; n += 1) await items.items.create({ id: `i${n}`, pk: "p" });
    let count = 0;
    for await (const { resources } of feed(items, { maxItemCount: 2 }).getAsyncIterator()) count += resources.length;
    assert.equal(count, 5);
  });

  test("an empty container and bad tokens", async () => {
    const items = await container();
    assert.deepEqual(await allItems(items), []);
    await refuses(400, () => feed(items, { continuationToken: "not a token" }).fetchNext());
    await refuses(400, () => feed(items, { maxItemCount: -2 }).fetchNext());
  });
});

describe("sessions", () => {
  test("a session's own writes are read, its token grows", async () => {
    const session = connect({ consistencyLevel: "Session" });
    const items = session.database(database.id).container((await container()).id);
    let last = 0;
    for (let n = 0; n < 5; n += 1) {
      const { headers } = await items.items.upsert({ id: "a", pk: "p", n });
      const [, range, lsn] = /^([^:]+):-?\d+#(\d+)/.exec(headers["x-ms-session-token"]);
      assert.equal(range, headers["x-ms-documentdb-partitionkeyrangeid"]);
      assert.ok(Number(lsn) > last);
      last = Number(lsn);
      assert.equal((await items.item("a", "p").read()).resource.n, n);
    }
  });

  test("a token is taken by another client", async () => {
    const items = await container();
    const { headers } = await items.items.create({ id: "a", pk: "p" });
    const other = connect({ consistencyLevel: "Session" }).database(database.id).container(items.id);
    const read = await other.item("a", "p").read({ sessionToken: headers["x-ms-session-token"] });
    assert.equal(read.statusCode, 200);
  });

  test("a token from the future is refused with 404/1002, and asked for again without it", async () => {
    const items = connect({ consistencyLevel: "Session" }).database(database.id).container((await container()).id);
    await items.items.create({ id: "a", pk: "p" });
    const read = await items.item("a", "p").read({ sessionToken: "0:-1#999999999" });
    assert.equal(read.statusCode, 200);
    const { failedAttempts } = read.diagnostics.clientSideRequestStatistics.retryDiagnostics;
    assert.deepEqual(failedAttempts.map(({ statusCode }) => statusCode), [404]);
  });

  test("weaker levels are served, stronger ones refused", async () => {
    const items = await container();
    await items.items.create({ id: "a", pk: "p" });
    for (const consistencyLevel of ["Session", "ConsistentPrefix", "Eventual"]) {
      assert.equal((await items.item("a", "p").read({ consistencyLevel })).statusCode, 200);
    }
    for (const consistencyLevel of ["Strong", "BoundedStaleness"]) {
      await refuses(400, () => items.item("a", "p").read({ consistencyLevel }));
    }
  });
});

describe("errors", () => {
  test("taken ids", async () => {
    const items = await container();
    await items.items.create({ id: "a", pk: "p", n: 1 });
    const error = await refuses(409, () => items.items.create({ id: "a", pk: "p", n: 2 }));
    assert.equal(error.body.code, "Conflict");
    assert.match(error.body.message, /already exists/);
    assert.ok(error.headers["x-ms-request-charge"] > 0);
    assert.equal((await items.item("a", "p").read()).resource.n, 1);
  });

  test("absent items, containers and databases", async () => {
    const items = await container();
    await refuses(404, () => items.item("none", "p").replace({ id: "none", pk: "p" }));
    await refuses(404, () => items.item("none", "p").delete());
    const nowhere = database.container(unique("none"));
    await refuses(404, () => nowhere.items.create({ id: "a", pk: "p" }));
    await refuses(404, () => allItems(nowhere));
    await refuses(404, () => client.database(unique("none")).container("c").items.create({ id: "a", pk: "p" }));
  });

  test("items above two megabytes", async () => {
    const items = await container();
    await refuses(413, () => items.items.create({ id: "big", pk: "p", text: "x".repeat(2 * 1024 * 1024) }));
    assert.equal((await items.item("big", "p").read()).statusCode, 404);
    const text = "x".repeat(2 * 1024 * 1024 - 1024);
    assert.equal((await items.items.create({ id: "large", pk: "p", text })).statusCode, 201);
    assert.equal((await items.item("large", "p").read()).resource.text, text);
  });

  test("ids that are too long", async () => {
    const items = await container();
    await refuses(400, () => items.items.create({ id: "x".repeat(1024), pk: "p" }));
    assert.equal((await items.items.create({ id: "x".repeat(1023), pk: "p" })).statusCode, 201);
    assert.equal((await items.item("x".repeat(1023), "p").read()).statusCode, 200);
  });

  test("a replace under another id", async () => {
    const items = await container();
    const { resource: made } = await items.items.create({ id: "a", pk: "p" });
    await items.items.create({ id: "taken", pk: "p" });
    await refuses(409, () => items.item("a", "p").replace({ id: "taken", pk: "p" }));
    const { resource: renamed } = await items.item("a", "p").replace({ ...made, id: "b", n: 1 });
    assert.equal(renamed._rid, made._rid);
    assert.deepEqual(Object.keys(renamed), [...Object.keys(made), "n"]);
    assert.equal((await items.item("a", "p").read()).statusCode, 404);
    assert.deepEqual((await items.item("b", "p").read()).resource, renamed);
  });

  test("documents nested too deeply", async () => {
    const items = await container();
    const nest = (depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth));
    await refuses(400, () => items.items.create({ id: "deep", pk: "p", value: nest(200) }));
    assert.equal((await items.items.create({ id: "fine", pk: "p", value: nest(100) })).statusCode, 201);
  });
});
