// Attachments with the package of their time: descriptions, media, upserts.

"use strict";

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { Readable } = require("node:stream");
const { after, before, describe, test } = require("node:test");
const { UriFactory } = require("documentdb");
const { connect, pagesOf, refuses, toArray } = require("./client.cjs");

const client = connect();
const databaseId = `attachments-${randomUUID()}`;
const databaseLink = UriFactory.createDatabaseUri(databaseId);

before(() => client.createDatabase({ id: databaseId }));
after(() => client.deleteDatabase(databaseLink));

/** `updateMedia` is the one call with a callback that the client's helper does not know. */
function updateMedia(...parameters) {
  return new Promise((resolve, reject) => {
    client.updateMedia(...parameters, (error, result) => (error ? reject(error) : resolve(result)));
  });
}

const media = (text) => Readable.from([Buffer.from(text)]);
const options = { slug: "attachment id", contentType: "application/text" };

for (const partitioned of [false, true]) {
  describe(`attachments ${partitioned ? "with" : "without"} a partition key`, () => {
    const key = partitioned ? { partitionKey: "a" } : {};
    let collection;

    before(async () => {
      const body = { id: `c-${randomUUID()}` };
      if (partitioned) body.partitionKey = { paths: ["/pk"], kind: "Hash" };
      collection = (await client.createCollection(databaseLink, body)).result;
    });

    async function document() {
      const { result } = await client.createDocument(collection._self, { id: randomUUID(), pk: "a" });
      return result;
    }

    test("are created, read, replaced and deleted", async () => {
      const owner = await document();
      assert.deepEqual(await toArray(client.readAttachments(owner._self, key)), []);
      await refuses(400, client.createAttachmentAndUploadMedia(owner._self, media("x"), { ...options, contentType: "junt/test", ...key }));
      const { result: made } = await client.createAttachmentAndUploadMedia(owner._self, media("stream content."), { ...options, ...key });
      assert.equal(made.id, "attachment id");
      assert.equal(made.contentType, "application/text");
      await refuses(409, client.createAttachmentAndUploadMedia(owner._self, media("again"), { ...options, ...key }));
      assert.equal((await client.readMedia(made.media)).result, "stream content.");
      await updateMedia(made.media, media("updated stream content"), { ...options, ...key });
      assert.equal((await client.readMedia(made.media)).result, "updated stream content");

      const described = { id: "dynamic attachment", media: "http://xstore.", MediaType: "Book", Author: "My Book Author",
        Title: "My Book Title", contentType: "application/text" };
      const { result: dynamic } = await client.createAttachment(owner._self, described, key);
      for (const [name, value] of Object.entries(described)) assert.equal(dynamic[name], value);
      const all = await toArray(client.readAttachments(owner._self, key));
      assert.deepEqual(all.map(({ id }) => id), ["attachment id", "dynamic attachment"]);
      const pages = await pagesOf(client.readAttachments(owner._self, { maxItemCount: 1, ...key }));
      assert.deepEqual(pages.flat().map(({ id }) => id), ["attachment id", "dynamic attachment"]);
      const found = await toArray(client.queryAttachments(owner._self, {
        query: "SELECT * FROM a WHERE a.Author = @author", parameters: [{ name: "@author", value: "My Book Author" }] }, key));
      assert.deepEqual(found, [dynamic]);

      dynamic.Author = "new author";
      const { result: replaced } = await client.replaceAttachment(dynamic._self, dynamic, key);
      assert.deepEqual([replaced.MediaType, replaced.Author, replaced.id], ["Book", "new author", dynamic.id]);
      const { result: read } = await client.readAttachment(replaced._self, key);
      assert.deepEqual(read, replaced);
      const named = UriFactory.createAttachmentUri(databaseId, collection.id, owner.id, "dynamic attachment");
      assert.deepEqual((await client.readAttachment(named, key)).result, replaced);
      await client.deleteAttachment(made._self, key);
      await refuses(404, client.readAttachment(made._self, key));
      await refuses(404, client.readMedia(made.media));
    });

    test("are upserted", async () => {
      const owner = await document();
      const upload = (text) => client.upsertAttachmentAndUploadMedia(owner._self, media(text), { ...options, ...key });
      const { result: made } = await upload("one");
      const { result: again } = await upload("two");
      assert.deepEqual([again._rid, again.media], [made._rid, made.media]);
      assert.notEqual(again._etag, made._etag);
      assert.equal((await client.readMedia(made.media)).result, "two");
      const body = { id: "x", contentType: "text/plain", media: "http://x" };
      const { result: first } = await client.upsertAttachment(owner._self, body, key);
      const { result: second } = await client.upsertAttachment(owner._self, { ...body, Author: "me" }, key);
      assert.deepEqual([second._rid, second.Author], [first._rid, "me"]);
      const access = { accessCondition: { type: "IfMatch", condition: first._etag }, ...key };
      await refuses(412, client.replaceAttachment(first._self, body, access));
    });

    test("go with their document", async () => {
      const owner = await document();
      const { result: made } = await client.createAttachmentAndUploadMedia(owner._self, media("x"), { ...options, ...key });
      await client.replaceDocument(owner._self, { ...owner, v: 2 }, key);
      assert.equal((await client.readMedia(made.media)).result, "x");
      await client.deleteDocument(owner._self, key);
      await refuses(404, client.readAttachment(made._self, key));
      await refuses(404, client.readMedia(made.media));
    });
  });
}
