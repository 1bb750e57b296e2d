// The account, its endpoints, its keys and its databases.

import assert from "node:assert/strict";
import https from "node:https";
import tls from "node:tls";
import { after, before, describe, test } from "node:test";
import { connect, endpoint, refuses, temporaryDatabase, unique } from "../lib/account.mjs";

/** The certificate the server shows, as PEM. */
function serverCertificate(port) {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const { raw } = socket.getPeerCertificate();
      socket.end();
      resolve(`-----BEGIN CERTIFICATE-----\n${raw.toString("base64")}\n-----END CERTIFICATE-----\n`);
    });
    socket.on("error", reject);
  });
}

describe("account", () => {
  test("describes itself and advertises the endpoint it was called by", async () => {
    const { resource, headers } = await connect().getDatabaseAccount();
    assert.equal(resource.consistencyPolicy, "Session");
    assert.equal(resource.writableLocations.length, 1);
    assert.equal(resource.writableLocations[0].databaseAccountEndpoint, endpoint);
    assert.equal(resource.readableLocations[0].databaseAccountEndpoint, endpoint);
    assert.equal(resource.enableMultipleWritableLocations, false);
    assert.ok(headers["x-ms-activity-id"]);
  });

  test("answers https on the same port, with a certificate made for this address", async () => {
    const { port } = new URL(endpoint);
    const agent = new https.Agent({ ca: await serverCertificate(port) });
    for (const host of ["127.0.0.1", "localhost"]) {
      const client = connect({ endpoint: `https://${host}:${port}/`, agent });
      const { resource: account } = await client.getDatabaseAccount();
      assert.equal(account.writableLocations[0].databaseAccountEndpoint, `https://${host}:${port}/`);
      const database = await temporaryDatabase(client);
      const { container } = await database.containers.create({ id: "secure", partitionKey: "/pk" });
      await container.items.create({ id: "a", pk: "p", text: "over TLS" });
      const { resource } = await container.item("a", "p").read();
      assert.equal(resource.text, "over TLS");
      await database.delete();
    }
    agent.destroy();
  });

  test("takes a connection string", async () => {
    const { CosmosClient } = await import("@azure/cosmos");
    const { key } = await import("../lib/account.mjs");
    const client = new CosmosClient(`AccountEndpoint=${endpoint};AccountKey=${key};`);
    const { resources } = await client.databases.readAll().fetchAll();
    assert.ok(Array.isArray(resources));
  });

  test("refuses a wrong key", async () => {
    const client = connect({ key: Buffer.alloc(64, 7).toString("base64") });
    const error = await refuses(401, () => client.databases.readAll().fetchAll());
    assert.equal(error.body.code, "Unauthorized");
  });
});

describe("databases", () => {
  const client = connect();
  let database;

  before(async () => {
    database = await temporaryDatabase(client);
  });
  after(() => database.delete());

  test("are created, read and deleted", async () => {
    const id = unique("db");
    const created = await client.databases.create({ id });
    assert.equal(created.statusCode, 201);
    assert.equal(created.resource.id, id);
    assert.ok(created.requestCharge > 0);

    const read = await client.database(id).read();
    assert.equal(read.statusCode, 200);
    assert.deepEqual(read.resource, created.resource);
    assert.match(read.resource._rid, /^[A-Za-z0-9+-]{6}==$/);
    assert.equal(read.resource._self, `dbs/${read.resource._rid}/`);
    assert.equal(read.resource._colls, "colls/");
    assert.equal(read.resource._users, "users/");
    assert.equal(read.etag, read.resource._etag);
    assert.ok(Number.isInteger(read.resource._ts));

    const deleted = await client.database(id).delete();
    assert.equal(deleted.statusCode, 204);
    await refuses(404, () => client.database(id).read());
    await refuses(404, () => client.database(id).delete());
  });

  test("createIfNotExists creates once", async () => {
    const id = unique("db");
    const first = await client.databases.createIfNotExists({ id });
    assert.equal(first.statusCode, 201);
    const second = await client.databases.createIfNotExists({ id });
    assert.equal(second.statusCode, 200);
    assert.equal(second.resource._rid, first.resource._rid);
    await client.database(id).delete();
  });

  test("are listed, in pages too", async () => {
    const ids = [];
    for (let n = 0; n < 5; n += 1) {
      ids.push((await client.databases.create({ id: unique("listed") })).resource.id);
    }
    const { resources } = await client.databases.readAll().fetchAll();
    const listed = resources.map((resource) => resource.id);
    for (const id of ids) assert.ok(listed.includes(id), id);

    const iterator = client.databases.readAll({ maxItemCount: 2 });
    const paged = [];
    while (iterator.hasMoreResults()) {
      const page = await iterator.fetchNext();
      assert.ok((page.resources ?? []).length <= 2);
      paged.push(...(page.resources ?? []).map((resource) => resource.id));
    }
    for (const id of ids) assert.equal(paged.filter((other) => other === id).length, 1, id);
    for (const id of ids) await client.database(id).delete();
  });

  test("names: unicode, spaces, case; taken and bad ones refused", async () => {
    for (const id of [unique("größe 数据 🦀"), unique("with space"), unique("a%20b+c&d=e")]) {
      const { statusCode } = await client.databases.create({ id });
      assert.equal(statusCode, 201);
      const { resource } = await client.database(id).read();
      assert.equal(resource.id, id);
      await client.database(id).delete();
    }
    await refuses(409, () => client.databases.create({ id: database.id }));
    await refuses(404, () => client.database(database.id.toUpperCase()).read());
    await refuses(400, () => client.databases.create({ id: "x".repeat(256) }));
  });

  test("throughput out of the rules is refused", async () => {
    await refuses(400, () => client.databases.create({ id: unique("db"), throughput: 300 }));
    await refuses(400, () => client.databases.create({ id: unique("db"), throughput: 450 }));
    await refuses(400, () => client.databases.create({ id: unique("db"), maxThroughput: 1500 }));
  });
});
