// Stored procedures, triggers and user-defined functions with the 2017 package.

"use strict";

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { after, before, describe, test } = require("node:test");
const { DocumentBase, UriFactory } = require("documentdb");
const { connect, refuses, toArray } = require("./client.cjs");

const client = connect();
const databaseId = `scripts-${randomUUID()}`;
let collection;
let link;

before(async () => {
  await client.createDatabase({ id: databaseId });
  const body = { id: "c", partitionKey: { paths: ["/pk"], kind: "Hash" } };
  collection = (await client.createCollection(UriFactory.createDatabaseUri(databaseId), body)).result;
  link = UriFactory.createDocumentCollectionUri(databaseId, "c");
});
after(() => client.deleteDatabase(UriFactory.createDatabaseUri(databaseId)));

const trigger = {
  triggerType: DocumentBase.TriggerType.Pre,
  triggerOperation: DocumentBase.TriggerOperation.All,
};

for (const [kind, segment, more] of [
  ["StoredProcedure", "sprocs", {}],
  ["Trigger", "triggers", trigger],
  ["UserDefinedFunction", "udfs", {}],
]) {
  describe(`${kind}s`, () => {
    for (const by of ["names", "rids"]) {
      test(`live their life by ${by}`, async () => {
        const owner = by === "names" ? link : collection._self;
        const id = `script ${by}`;
        const definition = { id, serverScript: "function () { var x = 10; }", ...more };
        const { result: made } = await client[`create${kind}`](owner, { ...definition });
        assert.equal(made.body, "function () { var x = 10; }");
        assert.deepEqual({ ...more, ...made }, made, "words come back as they were sent");
        const self = by === "names" ? `${link}/${segment}/${id}` : made._self;
        assert.deepEqual((await client[`read${kind}`](self)).result, made);
        await refuses(409, client[`create${kind}`](owner, { ...definition }));

        const query = { query: "SELECT * FROM root r WHERE r.id=@id", parameters: [{ name: "@id", value: id }] };
        assert.deepEqual(await toArray(client[`query${kind}s`](owner, query)), [made]);
        assert.ok((await toArray(client[`read${kind}s`](owner))).some((script) => script.id === id));

        const { result: upserted } = await client[`upsert${kind}`](owner, { id, body: "function () { }", ...more });
        assert.equal(upserted._rid, made._rid);
        const { result: replaced } = await client[`replace${kind}`](self, { ...upserted, body: "function () { return 2; }" });
        assert.equal(replaced.body, "function () { return 2; }");
        await client[`delete${kind}`](self);
        await refuses(404, client[`read${kind}`](self));
      });
    }
  });
}
