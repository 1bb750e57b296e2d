// The 2017 package `documentdb`, with promises.

"use strict";

const assert = require("node:assert/strict");
const { promisify } = require("node:util");
const { DocumentClient, DocumentBase } = require("documentdb");

const endpoint = (process.env.SHEAF_ENDPOINT ?? "http://127.0.0.1:8081/").replace("http://", "https://");
const masterKey =
  "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/** A client whose calls return promises of `{ result, headers }`. */
function connect(consistencyLevel, auth = { masterKey }, at = endpoint) {
  const client = new DocumentClient(at, auth, new DocumentBase.ConnectionPolicy(), consistencyLevel);
  return new Proxy(client, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== "function") return value;
      const callback = /^(create|read|replace|upsert|delete|execute)[A-Z]/.test(name) || name === "getDatabaseAccount";
      if (!callback || /^read\w+s$/.test(name)) return value.bind(target);
      return (...parameters) =>
        new Promise((resolve, reject) => {
          target[name](...parameters, (error, result, headers) => {
            if (error) reject(Object.assign(new Error(`${error.code}: ${error.body}`), error, { headers }));
            else resolve({ result, headers });
          });
        });
    },
  });
}

function toArray(iterator) {
  return promisify(iterator.toArray.bind(iterator))();
}

/** Reads a feed page by page. */
async function pagesOf(iterator) {
  const next = promisify(iterator.executeNext.bind(iterator));
  const pages = [];
  for (;;) {
    const page = await next();
    if (page === undefined) return pages;
    pages.push(page);
    if (!iterator.hasMoreResults()) return pages;
    assert.ok(pages.length < 1000, "the feed does not end");
  }
}

async function refuses(status, promise) {
  const error = await promise.then(
    () => assert.fail(`expected status ${status}, the call succeeded`),
    (failure) => failure,
  );
  assert.equal(error.code, status, error.message);
  assert.ok(JSON.parse(error.body).message);
  return error;
}

module.exports = { connect, endpoint, masterKey, pagesOf, refuses, toArray };
