// Users, permissions and resource tokens with the 2017 package, as its own samples use them.

"use strict";

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { after, before, test } = require("node:test");
const { UriFactory } = require("documentdb");
const { connect, refuses, toArray } = require("./client.cjs");

const client = connect();
const databaseId = `tokens-${randomUUID()}`;
const link = UriFactory.createDocumentCollectionUri(databaseId, "c");
const userLink = UriFactory.createUserUri(databaseId, "ann");
let collection;

before(async () => {
  const { result: database } = await client.createDatabase({ id: databaseId });
  const body = { id: "c", partitionKey: { paths: ["/pk"], kind: "Hash" } };
  collection = (await client.createCollection(database._self, body)).result;
  for (let n = 0; n < 20; n += 1) await client.createDocument(link, { id: `d${n}`, pk: `k${n % 4}` });
  await client.createUser(database._self, { id: "ann" });
});
after(() => client.deleteDatabase(UriFactory.createDatabaseUri(databaseId)));

const own = ["d1", "d13", "d17", "d5", "d9"];

test("a client of a permission feed keeps to its partition key", async () => {
  const definition = { id: "p", permissionMode: "All", resource: collection._self, resourcePartitionKey: ["k1"] };
  const { result: permission } = await client.createPermission(userLink, definition, {
    resourceTokenExpirySeconds: 600,
  });
  assert.match(permission._token, /^type=resource&ver=1&sig=/);
  await refuses(409, client.createPermission(userLink, { ...definition, id: "q" }));
  const feed = await toArray(client.readPermissions(userLink));
  assert.equal(feed.length, 1);
  for (const auth of [
    { permissionFeed: feed },
    { resourceTokens: { [collection._rid]: permission._token } },
  ]) {
    const holder = connect(undefined, auth);
    // By rids: it finds its tokens by them.
    const query = holder.queryDocuments(collection._self, "SELECT * FROM c", { partitionKey: "k1", maxItemCount: 2 });
    assert.deepEqual((await toArray(query)).map(({ id }) => id).sort(), own);
    const { result: made } = await holder.createDocument(collection._self, { id: "new", pk: "k1" }, { partitionKey: "k1" });
    assert.equal((await holder.readDocument(made._self, { partitionKey: "k1" })).result.id, "new");
    await holder.deleteDocument(made._self, { partitionKey: "k1" });
    await refuses(403, holder.createDocument(collection._self, { id: "new", pk: "k2" }, { partitionKey: "k2" }));
    await refuses(403, toArray(holder.queryDocuments(collection._self, "SELECT * FROM c", { partitionKey: "k2" })));
  }
  await client.replacePermission(permission._self, { ...definition, permissionMode: "Read" });
  const late = connect(undefined, { permissionFeed: feed });
  await refuses(401, late.readCollection(collection._self));
  await client.deletePermission(permission._self);
});

test("users live their life", async () => {
  const database = UriFactory.createDatabaseUri(databaseId);
  const { result: bob } = await client.createUser(database, { id: "bob" });
  assert.equal((await client.readUser(bob._self)).result._permissions, "permissions/");
  assert.deepEqual((await toArray(client.queryUsers(database, "SELECT VALUE u.id FROM u ORDER BY u.id"))), ["ann", "bob"]);
  assert.equal((await client.upsertUser(database, { id: "bob" })).result._rid, bob._rid);
  assert.equal((await client.replaceUser(bob._self, { id: "bert" })).result._rid, bob._rid);
  await client.deleteUser(bob._self);
  await refuses(404, client.readUser(bob._self));
});
