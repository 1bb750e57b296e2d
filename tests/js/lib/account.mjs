// The account under test, and what every test file needs of it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { CosmosClient } from "@azure/cosmos";

export const endpoint = process.env.SHEAF_ENDPOINT ?? "http://127.0.0.1:8081/";

/** The published emulator key. */
export const key =
  "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

export function connect(options = {}) {
  return new CosmosClient({ endpoint, key, ...options });
}

/** A name no other test uses. */
export function unique(prefix) {
  return `${prefix}-${randomUUID()}`;
}

/** Creates a database that lives as long as the calling suite. */
export async function temporaryDatabase(client = connect()) {
  const { database } = await client.databases.create({ id: unique("js") });
  return database;
}

/** Asserts that the call fails with this status, and substatus when given. */
export async function refuses(status, call, substatus) {
  let failure;
  try {
    await call();
  } catch (error) {
    failure = error;
  }
  assert.ok(failure, `expected status ${status}, the call succeeded`);
  assert.equal(failure.code, status, failure.message ?? String(failure));
  if (substatus !== undefined) {
    assert.equal(failure.substatus, substatus, failure.message);
  }
  assert.ok(failure.activityId ?? failure.headers?.["x-ms-activity-id"], "an error carries its activity id");
  return failure;
}

/**
 * The read feed of a container's items. `items.readAll` sends a query; without
 * query text the SDK sends the GET of the REST interface.
 */
export function feed(container, options) {
  return container.items.query(undefined, options);
}

/** Every item of a container. */
export async function allItems(container, options) {
  return (await pagesOf(feed(container, options))).flat();
}

/** Reads a feed page by page and returns the pages. */
export async function pagesOf(iterator) {
  const pages = [];
  while (iterator.hasMoreResults()) {
    const page = await iterator.fetchNext();
    pages.push(page.resources ?? []);
    assert.ok(pages.length < 1000, "the feed does not end");
  }
  return pages;
}

export function withoutSystem(resource) {
  return Object.fromEntries(Object.entries(resource).filter(([name]) => !name.startsWith("_")));
}
