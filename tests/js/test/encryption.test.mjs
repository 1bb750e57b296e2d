// Client encryption: keys, policies, and items that only their clients can read.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { EncryptionAlgorithm, EncryptionType, KeyEncryptionAlgorithm } from "@azure/cosmos";
import { connect, refuses, temporaryDatabase, unique } from "../lib/account.mjs";

/** Wraps keys as a vault would, though not as well. */
const vault = {
  encryptionKeyResolverName: "TEST_VAULT",
  wrapKey: async (id, algorithm, key) => key.map((byte) => byte ^ id.length),
  unwrapKey: async (id, algorithm, key) => key.map((byte) => byte ^ id.length),
};
const wrapping = (value) => ({
  type: "TEST_VAULT", name: "metadata", value, algorithm: KeyEncryptionAlgorithm.RSA_OAEP,
});
const AEAD = EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256;
const client = connect({ clientEncryptionOptions: { keyEncryptionKeyResolver: vault } });
let database;

before(async () => {
  database = await temporaryDatabase(client);
  await database.createClientEncryptionKey("key1", AEAD, wrapping("vault1"));
});
after(() => database.delete());

function path(name, encryptionType, clientEncryptionKeyId = "key1") {
  return { path: name, clientEncryptionKeyId, encryptionType, encryptionAlgorithm: AEAD };
}

function create(includedPaths, policyFormatVersion = 2) {
  const id = unique("c");
  const clientEncryptionPolicy = { includedPaths, policyFormatVersion };
  return database.containers.create({ id, partitionKey: { paths: ["/pk"] }, clientEncryptionPolicy });
}

describe("client encryption keys", () => {
  test("are read as they were made, and wrapped anew", async () => {
    const { clientEncryptionKeyProperties: key } = await database.readClientEncryptionKey("key1");
    assert.equal(key.id, "key1");
    assert.equal(key.encryptionAlgorithm, AEAD);
    assert.deepEqual(key.encryptionKeyWrapMetadata, wrapping("vault1"));
    await database.createClientEncryptionKey("key2", AEAD, wrapping("vault1"));
    const { clientEncryptionKeyProperties: before } = await database.readClientEncryptionKey("key2");
    const { clientEncryptionKeyProperties: anew } = await database.rewrapClientEncryptionKey("key2", wrapping("another vault"));
    assert.deepEqual(anew.encryptionKeyWrapMetadata, wrapping("another vault"));
    assert.notDeepEqual(anew.wrappedDataEncryptionKey, before.wrappedDataEncryptionKey);
    assert.notEqual(anew.etag, before.etag);
    await refuses(409, () => database.createClientEncryptionKey("key2", AEAD, wrapping("vault1")));
    await refuses(404, () => database.readClientEncryptionKey("nowhere"));
  });
});

describe("encrypted containers", () => {
  test("keep items that only clients with the key can read", async () => {
    const { container } = await create([
      path("/secret", EncryptionType.RANDOMIZED), path("/name", EncryptionType.DETERMINISTIC),
      path("/id", EncryptionType.DETERMINISTIC), path("/pk", EncryptionType.DETERMINISTIC),
    ]);
    await container.initializeEncryption();
    const item = { id: "one", pk: "a", name: "Ada", secret: { card: [4242, "x"] }, open: 5 };
    const { resource: made } = await container.items.create(item);
    assert.deepEqual([made.secret, made.name, made.open], [item.secret, "Ada", 5]);
    const { resource: read } = await container.item("one", "a").read();
    assert.deepEqual([read.id, read.secret], ["one", item.secret]);
    await container.items.upsert({ ...item, open: 6 });
    const { resources: plain } = await connect().database(database.id).container(container.id).items.readAll().fetchAll();
    assert.equal(plain.length, 1);
    assert.equal(plain[0].open, 6);
    for (const name of ["id", "pk", "name"]) {
      assert.equal(typeof plain[0][name], "string");
      assert.notEqual(plain[0][name], item[name]);
    }
    assert.doesNotMatch(JSON.stringify(plain[0].secret), /4242/);
    assert.equal((await container.item("one", "a").delete()).statusCode, 204);
  });

  test("name known keys, and stay as they are", async () => {
    const unknown = await refuses(400, () => create([path("/a", EncryptionType.RANDOMIZED, "unknownKey")]));
    assert.match(unknown.message, /ClientEncryptionKey with id '\[unknownKey\]' does not exist\./);
    const { container, resource } = await create([path("/a", EncryptionType.RANDOMIZED)], 1);
    assert.deepEqual(resource.clientEncryptionPolicy.includedPaths, [path("/a", EncryptionType.RANDOMIZED)]);
    assert.equal((await container.replace(resource)).statusCode, 200);
    const { clientEncryptionPolicy: _, ...without } = resource;
    const changed = await refuses(400, () => container.replace(without));
    assert.match(changed.message, /'clientEncryptionPolicy' cannot be changed as part of collection replace operation\./);
  });

  test("notice that they were made again", async () => {
    const { container, resource } = await create([path("/a", EncryptionType.DETERMINISTIC)]);
    await container.initializeEncryption();
    await container.items.create({ id: "old", pk: "a", a: "x" });
    // Another client makes it again, with another policy.
    const other = connect().database(database.id);
    await other.container(container.id).delete();
    const clientEncryptionPolicy = { includedPaths: [path("/b", EncryptionType.DETERMINISTIC)], policyFormatVersion: 2 };
    await other.containers.create({ id: container.id, partitionKey: resource.partitionKey, clientEncryptionPolicy });
    const write = () => container.items.create({ id: "new", pk: "a", a: "x", b: "y" });
    await assert.rejects(write, /mismatch in Client Encryption Policy/);
    // It has read the policy again, and the same call goes through.
    const { resource: made } = await write();
    assert.deepEqual([made.a, made.b], ["x", "y"]);
    const { resource: plain } = await other.container(container.id).item("new", "a").read();
    assert.equal(plain.a, "x");
    assert.notEqual(plain.b, "y");
  });
});
