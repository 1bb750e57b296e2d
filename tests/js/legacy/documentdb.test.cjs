// The 2017 package `documentdb`, which still runs in old services.

"use strict";

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { promisify } = require("node:util");
const { after, before, describe, test } = require("node:test");
const { UriFactory } = require("documentdb");
const { connect, endpoint, masterKey, pagesOf, refuses, toArray } = require("./client.cjs");

const client = connect();
const databaseId = `legacy-${randomUUID()}`;
const databaseLink = UriFactory.createDatabaseUri(databaseId);
let database;

before(async () => {
  database = (await client.createDatabase({ id: databaseId })).result;
});
after(() => client.deleteDatabase(databaseLink));

/** Creates a collection; without key paths it is the kind of 2015. */
async function collection(paths, options = {}) {
  const body = { id: `c-${randomUUID()}` };
  if (paths) body.partitionKey = { paths, kind: "Hash" };
  const { result } = await client.createCollection(databaseLink, body, options);
  return { ...result, link: UriFactory.createDocumentCollectionUri(databaseId, result.id) };
}

function documentLink(parent, id) {
  return UriFactory.createDocumentUri(databaseId, parent.id, id);
}

describe("account and databases", () => {
  test("the account describes itself", async () => {
    const { result } = await client.getDatabaseAccount();
    assert.equal(result.ConsistencyPolicy?.defaultConsistencyLevel ?? result.ConsistencyPolicy, "Session");
    assert.equal(await promisify((callback) => client.getWriteEndpoint((url) => callback(null, url)))(), endpoint);
  });

  test("databases by name and by self link", async () => {
    const { result: byName } = await client.readDatabase(databaseLink);
    assert.equal(byName.id, databaseId);
    const { result: bySelf } = await client.readDatabase(database._self);
    assert.deepEqual(bySelf, byName);
    const all = await toArray(client.readDatabases());
    assert.ok(all.some(({ id }) => id === databaseId));
    await refuses(409, client.createDatabase({ id: databaseId }));
    await refuses(404, client.readDatabase(UriFactory.createDatabaseUri(randomUUID())));
  });
});

describe("collections", () => {
  test("without a partition key", async () => {
    const plain = await collection();
    const { result } = await client.readCollection(plain.link);
    assert.equal(result.id, plain.id);
    assert.equal(result.indexingPolicy.indexingMode, "consistent");
    const { result: bySelf } = await client.readCollection(plain._self);
    assert.deepEqual(bySelf, result);
    const ranges = await toArray(client.readPartitionKeyRanges(plain.link));
    assert.equal(ranges.length, 1);
  });

  test("with a partition key, on several partitions", async () => {
    const keyed = await collection(["/pk"], { offerThroughput: 25000 });
    const { result } = await client.readCollection(keyed.link);
    assert.deepEqual(result.partitionKey.paths, ["/pk"]);
    assert.equal(result.partitionKey.version ?? 1, 1);
    const ranges = await toArray(client.readPartitionKeyRanges(keyed.link));
    assert.equal(ranges.length, 3);
  });

  test("old index definitions come back as they were sent", async () => {
    const indexes = [
      { kind: "Range", dataType: "Number", precision: -1 },
      { kind: "Range", dataType: "String", precision: -1 },
      { kind: "Spatial", dataType: "Point" },
    ];
    const body = {
      id: `c-${randomUUID()}`,
      indexingPolicy: { indexingMode: "Consistent", includedPaths: [{ path: "/*", indexes }] },
    };
    await client.createCollection(databaseLink, body);
    const { result } = await client.readCollection(UriFactory.createDocumentCollectionUri(databaseId, body.id));
    assert.equal(result.indexingPolicy.indexingMode, "consistent");
    assert.deepEqual(result.indexingPolicy.includedPaths[0].indexes, indexes);
  });

  test("replaced, listed and deleted", async () => {
    const plain = await collection();
    const { link, ...body } = plain;
    const { result } = await client.replaceCollection(link, { ...body, defaultTtl: 60 });
    assert.equal(result.defaultTtl, 60);
    assert.equal(result._rid, plain._rid);
    const listed = await toArray(client.readCollections(databaseLink));
    assert.ok(listed.some(({ id }) => id === plain.id));
    const bySelf = await toArray(client.readCollections(database._self));
    assert.deepEqual(bySelf, listed);
    await client.deleteCollection(plain._self);
    await refuses(404, client.readCollection(link));
  });
});

for (const [kind, paths] of [["without a partition key", undefined], ["with a partition key", ["/pk"]]]) {
  describe(`documents of a collection ${kind}`, () => {
    const keyed = paths !== undefined;
    const options = keyed ? { partitionKey: "p" } : {};

    test("by name", async () => {
      const parent = await collection(paths);
      const link = documentLink(parent, "a");
      const { result: created } = await client.createDocument(parent.link, { id: "a", pk: "p", n: 1 });
      assert.equal(created.n, 1);
      const { result: read } = await client.readDocument(link, options);
      assert.deepEqual(read, created);
      const { result: replaced } = await client.replaceDocument(link, { id: "a", pk: "p", n: 2 }, options);
      assert.equal(replaced.n, 2);
      assert.equal(replaced._rid, created._rid);
      const { result: upserted } = await client.upsertDocument(parent.link, { id: "a", pk: "p", n: 3 });
      assert.equal(upserted._rid, created._rid);
      await client.upsertDocument(parent.link, { id: "b", pk: "p" });
      await client.deleteDocument(link, options);
      await refuses(404, client.readDocument(link, options));
      await refuses(404, client.deleteDocument(link, options));
    });

    test("by self link", async () => {
      const parent = await collection(paths);
      const { result: created } = await client.createDocument(parent._self, { id: "a", pk: "p", n: 1 });
      assert.equal(created._self, `${parent._self}docs/${created._rid}/`);
      const { result: read } = await client.readDocument(created._self, options);
      assert.deepEqual(read, created);
      const { result: replaced } = await client.replaceDocument(created._self, { id: "a", pk: "p", n: 2 }, options);
      assert.equal(replaced.n, 2);
      const { result: upserted } = await client.upsertDocument(parent._self, { id: "a", pk: "p", n: 3 });
      assert.equal(upserted._rid, created._rid);
      assert.equal((await toArray(client.readDocuments(parent._self))).length, 1);
      await client.deleteDocument(created._self, options);
      await refuses(404, client.readDocument(created._self, options));
    });

    test("ids are made by the client, taken ones refused", async () => {
      const parent = await collection(paths);
      const { result } = await client.createDocument(parent.link, { pk: "p" });
      assert.match(result.id, /^[0-9a-f-]{36}$/);
      const error = await refuses(409, client.createDocument(parent.link, { id: result.id, pk: "p" }));
      assert.equal(JSON.parse(error.body).code, "Conflict");
    });

    test("conditions", async () => {
      const parent = await collection(paths);
      const link = documentLink(parent, "a");
      const { result: first } = await client.createDocument(parent.link, { id: "a", pk: "p", n: 1 });
      const holding = (condition) => ({ ...options, accessCondition: { type: "IfMatch", condition } });
      const { result: second } = await client.replaceDocument(link, { id: "a", pk: "p", n: 2 }, holding(first._etag));
      await refuses(412, client.replaceDocument(link, { id: "a", pk: "p", n: 3 }, holding(first._etag)));
      await refuses(412, client.deleteDocument(link, holding(first._etag)));
      const known = { ...options, accessCondition: { type: "IfNoneMatch", condition: second._etag } };
      const unchanged = await client.readDocument(link, known);
      assert.equal(unchanged.result, undefined);
      assert.equal(unchanged.headers.etag, second._etag);
      await client.deleteDocument(link, holding(second._etag));
    });

    test("feeds in pages", async () => {
      const parent = await collection(paths, keyed ? { offerThroughput: 25000 } : {});
      const ids = Array.from({ length: 23 }, (_, n) => `i${n}`);
      for (const id of ids) await client.createDocument(parent.link, { id, pk: id });
      const pages = await pagesOf(client.readDocuments(parent.link, { maxItemCount: 5 }));
      assert.ok(pages.every((page) => page.length <= 5));
      assert.deepEqual(pages.flat().map(({ id }) => id).sort(), [...ids].sort());
      assert.equal((await toArray(client.readDocuments(parent.link))).length, 23);
    });

    test("session tokens are of the old form and grow", async () => {
      const session = connect("Session");
      const parent = await collection(paths);
      let last = 0;
      for (let n = 0; n < 5; n += 1) {
        const { headers } = await session.upsertDocument(parent.link, { id: "a", pk: "p", n });
        const [, lsn] = /^0:(\d+)$/.exec(headers["x-ms-session-token"]);
        assert.ok(Number(lsn) > last);
        last = Number(lsn);
        const { result } = await session.readDocument(documentLink(parent, "a"), options);
        assert.equal(result.n, n);
      }
      assert.equal(session.getSessionToken(parent.link), `0:${last}`);
      const { result } = await session.readDocument(documentLink(parent, "a"), { ...options, sessionToken: `0:${last}` });
      assert.equal(result.n, 4);
    });
  });
}

describe("old and new clients share a collection without a partition key", () => {
  test("the new one sees and makes what the old one does", async () => {
    const { CosmosClient } = require("@azure/cosmos");
    const modern = new CosmosClient({ endpoint: process.env.SHEAF_ENDPOINT ?? "http://127.0.0.1:8081/", key: masterKey });
    const parent = await collection();
    const container = modern.database(databaseId).container(parent.id);
    const { resource: definition } = await container.read();
    assert.equal(definition.partitionKey.systemKey, true);

    await client.createDocument(parent.link, { id: "old", n: 1 });
    const { resource: old } = await container.item("old", undefined).read();
    assert.equal(old.n, 1);
    await container.item("old", undefined).replace({ id: "old", n: 2 });
    assert.equal((await client.readDocument(documentLink(parent, "old"))).result.n, 2);

    await container.items.create({ id: "new", n: 3 });
    assert.equal((await client.readDocument(documentLink(parent, "new"))).result.n, 3);
    await refuses(409, client.createDocument(parent.link, { id: "new" }));
    assert.deepEqual((await toArray(client.readDocuments(parent.link))).map(({ id }) => id).sort(), ["new", "old"]);
    await container.item("old", undefined).delete();
    await refuses(404, client.readDocument(documentLink(parent, "old")));
  });
});

describe("partition keys", () => {
  test("the same id under several keys", async () => {
    const parent = await collection(["/pk"], { offerThroughput: 25000 });
    const keys = ["", "1", 1, 0, true, false, null, "größe"];
    for (const pk of keys) await client.createDocument(parent.link, { id: "a", pk, text: String(pk) });
    await client.createDocument(parent.link, { id: "a", text: "none" });
    for (const pk of keys) {
      const { result } = await client.readDocument(documentLink(parent, "a"), { partitionKey: [pk] });
      assert.equal(result.text, String(pk));
    }
    const { result } = await client.readDocument(documentLink(parent, "a"), { partitionKey: [{}] });
    assert.equal(result.text, "none");
    assert.equal((await toArray(client.readDocuments(parent.link))).length, keys.length + 1);
  });

  test("a read must name its key", async () => {
    const parent = await collection(["/pk"]);
    await client.createDocument(parent.link, { id: "a", pk: "p" });
    await refuses(400, client.readDocument(documentLink(parent, "a")));
    await refuses(404, client.readDocument(documentLink(parent, "a"), { partitionKey: "q" }));
  });
});

describe("offers", () => {
  async function offerOf(resource) {
    const offers = await toArray(client.readOffers());
    return offers.filter(({ offerResourceId }) => offerResourceId === resource._rid);
  }

  test("are read and replaced", async () => {
    const parent = await collection(undefined, { offerThroughput: 500 });
    const [offer, ...more] = await offerOf(parent);
    assert.deepEqual(more, []);
    assert.equal(offer.offerVersion, "V2");
    assert.equal(offer.resource, parent._self);
    assert.equal(offer.content.offerThroughput, 500);
    const { result: read } = await client.readOffer(offer._self);
    assert.deepEqual(read, offer);
    offer.content.offerThroughput = 600;
    const { result: replaced } = await client.replaceOffer(offer._self, offer);
    assert.equal(replaced.content.offerThroughput, 600);
    assert.equal((await client.readOffer(offer._self)).result.content.offerThroughput, 600);
    offer.content.offerThroughput = 50;
    await refuses(400, client.replaceOffer(offer._self, offer));
    await client.deleteCollection(parent.link);
    await refuses(404, client.readOffer(offer._self));
  });
});
