// Stored procedures, triggers and user-defined functions: made, found, changed, deleted.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TriggerOperation, TriggerType } from "@azure/cosmos";
import { connect, pagesOf, refuses, temporaryDatabase, unique, withoutSystem } from "../lib/account.mjs";

const client = connect();
let database;

before(async () => {
  database = await temporaryDatabase(client);
});
after(() => database.delete());

const trigger = { triggerType: TriggerType.Pre, triggerOperation: TriggerOperation.All };

for (const [kind, many, one, more] of [
  ["stored procedures", "storedProcedures", "storedProcedure", {}],
  ["triggers", "triggers", "trigger", trigger],
  ["user-defined functions", "userDefinedFunctions", "userDefinedFunction", {}],
]) {
  describe(kind, () => {
    let scripts;
    let feed;
    before(async () => {
      const { container } = await database.containers.create({ id: unique("c"), partitionKey: "/pk" });
      scripts = (id) => container.scripts[one](id);
      feed = container.scripts[many];
    });

    test("are created, read, replaced and deleted", async () => {
      const definition = { id: "sample script", body: "function () { const x = 10; }", ...more };
      const { resource: made, statusCode } = await feed.create(definition);
      assert.equal(statusCode, 201);
      assert.deepEqual(withoutSystem(made), definition);
      const read = await scripts(made.id).read();
      assert.deepEqual(read.resource, made);
      assert.equal(read.etag, made._etag);
      await refuses(409, () => feed.create(definition));

      // The SDK prints a function as its source.
      made.body = function () { const x = 20; console.log(x); }; // prettier-ignore
      const { resource: replaced } = await scripts(made.id).replace(made);
      assert.equal(replaced.id, made.id);
      assert.equal(replaced.body, "function () { const x = 20; console.log(x); }");
      assert.deepEqual((await scripts(made.id).read()).resource, replaced);
      const stale = { accessCondition: { type: "IfMatch", condition: made._etag } };
      await refuses(412, () => scripts(made.id).replace(made, stale));

      await scripts(made.id).delete();
      await refuses(404, () => scripts(made.id).read());
      await refuses(404, () => scripts(made.id).delete());
    });

    test("are listed and queried", async () => {
      for (const id of ["a", "b", "c", "d"]) await feed.create({ id, body: "function () { }", ...more });
      const pages = await pagesOf(feed.readAll({ maxItemCount: 3 }));
      assert.deepEqual(pages.map((page) => page.map(({ id }) => id)), [["a", "b", "c"], ["d"]]);
      const query = { query: "SELECT * FROM root r WHERE r.id=@id", parameters: [{ name: "@id", value: "c" }] };
      const { resources } = await feed.query(query).fetchAll();
      assert.deepEqual(resources.map(({ id }) => id), ["c"]);
      const ordered = feed.query("SELECT VALUE r.id FROM r WHERE r.id > 'a' ORDER BY r.id DESC", { maxItemCount: 2 });
      assert.deepEqual((await ordered.fetchAll()).resources, ["d", "c", "b"]);
    });

    test("must be functions", async () => {
      const body = "function f() {\n  var x = ;\n}";
      const failure = await refuses(400, () => feed.create({ id: "broken", body, ...more }));
      assert.match(failure.message, /line: 2, column: 11/);
    });

    test("may be methods, as JavaScript prints them", async () => {
      const { resource } = await feed.create({ id: unique("m"), body: "serverScript() { var x = 10; }", ...more });
      assert.equal(resource.body, "serverScript() { var x = 10; }");
    });
  });
}
