// Throughput of containers and databases: read, replaced, and changed in kind.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, refuses, temporaryDatabase, unique } from "../lib/account.mjs";

const client = connect();
const toScaled = { initialHeaders: { "x-ms-cosmos-migrate-offer-to-autopilot": "true" } };
const toManual = { initialHeaders: { "x-ms-cosmos-migrate-offer-to-manual-throughput": "true" } };
const policy = (incrementPercent) => ({ throughputPolicy: { incrementPercent } });
const created = [];
let database;

before(async () => {
  database = await temporaryDatabase(client);
  created.push(database);
});
after(() => Promise.all(created.map((made) => made.delete())));

const kinds = {
  container: async (throughput) => (await database.containers.create({ id: unique("c"), partitionKey: "/pk", ...throughput })).container,
  database: async (throughput) => {
    const { database: made } = await client.databases.create({ id: unique("offers"), ...throughput });
    created.push(made);
    return made;
  },
};

for (const [kind, create] of Object.entries(kinds)) {
  describe(`offers of a ${kind}`, () => {
    test("manual throughput is read and replaced", async () => {
      const owner = await create({ throughput: 900 });
      const { resource, offer } = await owner.readOffer();
      assert.equal(resource.content.offerThroughput, 900);
      const read = await offer.read();
      assert.equal(read.headers["x-ms-cosmos-min-throughput"], "400");
      resource.content.offerThroughput = 1200;
      const replaced = await offer.replace(resource);
      assert.equal(replaced.resource.content.offerThroughput, 1200);
      assert.equal(replaced.headers["x-ms-offer-replace-pending"], "false");
      assert.equal((await owner.readOffer()).resource.content.offerThroughput, 1200);
    });

    test("autoscale with an increment", async () => {
      const owner = await create({ maxThroughput: 4000, autoUpgradePolicy: policy(10) });
      const { resource, offer } = await owner.readOffer();
      const settings = resource.content.offerAutopilotSettings;
      assert.equal(settings.maxThroughput, 4000);
      assert.deepEqual(settings.autoUpgradePolicy, policy(10));
      assert.equal(resource.content.offerThroughput, 400);
      settings.maxThroughput = 8000;
      settings.autoUpgradePolicy = policy(20);
      const replaced = (await offer.replace(resource)).resource.content;
      assert.equal(replaced.offerAutopilotSettings.maxThroughput, 8000);
      assert.deepEqual(replaced.offerAutopilotSettings.autoUpgradePolicy, policy(20));
      assert.equal(replaced.offerThroughput, 800);
    });

    test("from manual to autoscale and back", async () => {
      const owner = await create({ throughput: 4100 });
      const { resource, offer } = await owner.readOffer();
      const migrated = (await offer.replace(resource, toScaled)).resource;
      assert.equal(migrated.content.offerAutopilotSettings.maxThroughput, 5000);
      assert.deepEqual((await owner.readOffer()).resource, migrated);
      migrated.content.offerAutopilotSettings.maxThroughput = 6000;
      assert.equal((await offer.replace(migrated)).resource.content.offerThroughput, 600);
      const back = (await offer.replace(migrated, toManual)).resource;
      assert.equal(back.content.offerThroughput, 6000);
      assert.equal(back.content.offerAutopilotSettings, undefined);
    });

    test("another kind without its header is refused", async () => {
      const owner = await create({ throughput: 400 });
      const { resource, offer } = await owner.readOffer();
      const scaled = { ...resource, content: { offerAutopilotSettings: { maxThroughput: 4000 } } };
      const failure = await refuses(400, () => offer.replace(scaled));
      assert.match(failure.body.message, /x-ms-cosmos-migrate-offer-to-autopilot must be supplied/);
      await refuses(400, () => offer.replace(resource, toManual));
      assert.deepEqual((await owner.readOffer()).resource, resource);
    });

    test("rates that are refused", async () => {
      for (const throughput of [300, 450, 1000100]) {
        const failure = await refuses(400, () => create({ throughput }));
        assert.match(failure.body.message, /between 400 and 1000000 inclusive in increments of 100\./);
      }
      for (const maxThroughput of [500, 1500, 1001000]) {
        const failure = await refuses(400, () => create({ maxThroughput }));
        assert.match(failure.body.message, /between 1000 and 1000000 inclusive in increments of 1000\./);
      }
      await refuses(400, () => create({ maxThroughput: 4000, autoUpgradePolicy: policy(101) }));
    });
  });
}
