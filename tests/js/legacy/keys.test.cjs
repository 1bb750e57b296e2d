// Keys that are replaced, and keys that may only read, with the 2017 package.

"use strict";

const assert = require("node:assert/strict");
const { after, before, test } = require("node:test");
const { UriFactory } = require("documentdb");
const { connect, refuses, toArray } = require("./client.cjs");

const link = UriFactory.createDocumentCollectionUri("d", "c");
const document = UriFactory.createDocumentUri("d", "c", "a");
const item = { id: "a", pk: "p" };
const options = { partitionKey: "p" };
let server;
let keys;

const client = (masterKey) =>
  connect(undefined, { masterKey }, server.endpoint.replace("http://", "https://"));

/** Waits until a key is no longer good: the server looks at its file twice a second. */
async function ends(key) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const code = await client(key).getDatabaseAccount().then(() => 200, (error) => error.code);
    if (code !== 200) return assert.equal(code, 401);
    assert.ok(Date.now() < deadline, "the key is still good");
  }
}

before(async () => {
  const { Server } = await import("../lib/server.mjs");
  server = await Server.create();
  keys = await server.regenerate("all");
  await ends((await import("../lib/account.mjs")).key);
  const owner = client(keys.primary);
  const { result: database } = await owner.createDatabase({ id: "d" });
  const partitionKey = { paths: ["/pk"], kind: "Hash" };
  await owner.createCollection(database._self, { id: "c", partitionKey });
  await owner.createDocument(link, item);
});
after(() => server.destroy());

test("one key is replaced and the others stay", async () => {
  const old = client(keys.primary);
  assert.equal((await old.readDocument(document, options)).result.id, "a");
  const { primary } = await server.regenerate("primary");
  await ends(keys.primary);
  await refuses(401, old.readDocument(document, options));
  for (const key of [primary, keys.secondary]) {
    const owner = client(key);
    assert.equal((await owner.readDocument(document, options)).result.id, "a");
    await owner.upsertDocument(link, item);
  }
  assert.equal((await client(keys.primary_readonly).readDocument(document, options)).result.id, "a");
});

test("keys that may only read", async () => {
  for (const name of ["primary_readonly", "secondary_readonly"]) {
    const reader = client(keys[name]);
    assert.equal((await reader.readDocument(document, options)).result.id, "a");
    assert.equal((await toArray(reader.queryDocuments(link, "SELECT * FROM c", options))).length, 1);
    assert.equal((await toArray(reader.readDatabases())).length, 1);
    await refuses(403, reader.createDocument(link, { id: "b", pk: "p" }));
    await refuses(403, reader.upsertDocument(link, item));
    await refuses(403, reader.replaceDocument(document, item, options));
    await refuses(403, reader.deleteDocument(document, options));
    await refuses(403, reader.createDatabase({ id: "e" }));
    await refuses(403, reader.deleteCollection(link));
  }
});
