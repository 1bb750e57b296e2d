// Splits and merges, by the server's own calls: no SDK has them.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { endpoint, key } from "./account.mjs";

async function call(method, path, type, link) {
  const date = new Date().toUTCString();
  const text = `${method.toLowerCase()}\n${type}\n${link}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
  const headers = {
    "x-ms-date": date,
    "x-ms-version": "2020-07-15",
    authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`),
  };
  const answer = await fetch(new URL(path, endpoint), { method, headers });
  const body = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(body));
  return body;
}

/** Splits a range, or merges it with its right neighbour. */
export function reshape(container, action, id) {
  const link = `dbs/${container.database.id}/colls/${container.id}/pkranges/${id}`;
  return call("POST", `/_sheaf/${link}/${action}`, "pkranges", link);
}

/** The ids of a container's ranges, in their order. */
export async function rangeIds(container) {
  const link = `dbs/${container.database.id}/colls/${container.id}`;
  const { PartitionKeyRanges: ranges } = await call("GET", `/${link}/pkranges`, "pkranges", link);
  return ranges.map(({ id }) => id);
}
