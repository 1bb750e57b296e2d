// What the query tests share: documents, the ways to run a query, comparisons.

import assert from "node:assert/strict";
import { pagesOf, unique } from "./account.mjs";

/** One physical partition, and three. */
export const sizes = [["one partition", 400], ["three partitions", 30000]];

export async function createContainer(database, definition = {}) {
  const { container } = await database.containers.create({
    id: unique("q"),
    partitionKey: { paths: ["/pk"], version: 2 },
    ...definition,
  });
  return container;
}

/** Creates the documents, those of one key one after the other, and returns the container. */
export async function fill(container, documents) {
  await Promise.all(groups(documents, ({ pk }) => pk).map(async (group) => {
    for (const document of group) await container.items.create(document);
  }));
  return container;
}

const WORDS = ["apple", "Birne", "größe", "数据", "🦀 crab", "zebra"];

/** Forty documents under seven keys. `n` is unique, the rest repeats; `opt` is there for every third. */
export function sample() {
  return Array.from({ length: 40 }, (_, n) => {
    const document = {
      id: `i${n}`,
      pk: `k${n % 7}`,
      n,
      m: n % 5,
      price: (n * 37 % 40) + 0.5,
      word: WORDS[n % WORDS.length],
      even: n % 2 === 0,
      place: { city: n % 4 === 0 ? "Oslo" : "Lima", floor: n % 3 },
      tags: [`t${n % 2}`, `t${2 + n % 3}`],
      parts: [{ name: "wheel", count: n }, { name: "door", count: n + 1 }],
    };
    if (n % 3 === 0) document.opt = n * 10;
    return document;
  });
}

/**
 * The ways in which the SDK runs a query: it asks for a plan when the answer says so, at once, or
 * to hand out tokens of its own.
 */
export const ways = [
  ["as it comes", {}],
  ["in pages of three", { maxItemCount: 3 }],
  ["by plan", { forceQueryPlan: true }],
  ["by plan, in parallel", { forceQueryPlan: true, maxItemCount: 3, maxDegreeOfParallelism: 10, bufferItems: true }],
  ["with query control", { enableQueryControl: true, maxItemCount: 4 }],
];

/** All rows of a query, page by page. */
export async function rows(container, query, options = {}) {
  return (await pagesOf(container.items.query(query, { ...options }))).flat();
}

/** JSON with sorted keys: equal exactly for values that are equal to the database. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).filter((key) => value[key] !== undefined).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

export function assertRows(actual, expected, { ordered = false, context } = {}) {
  const texts = [actual, expected].map((list) => list.map(canonical));
  if (!ordered) texts.forEach((list) => list.sort());
  assert.deepEqual(texts[0], texts[1], context);
}

/** Runs a query in every way and compares what comes back. */
export async function runs(container, query, expected, { ordered = false, only = ways } = {}) {
  const text = query.query ?? query;
  for (const [way, options] of only) {
    const actual = await rows(container, query, options);
    assertRows(actual, expected, { ordered, context: `${text} — ${way}: ${JSON.stringify(actual)}` });
  }
}

/** The groups of a list, in the order of their first members. */
export function groups(list, key) {
  const found = new Map();
  for (const item of list) {
    const name = canonical([key(item) ?? null]);
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(item);
  }
  return [...found.values()];
}

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
export const distinct = (list) => [...new Map(list.map((value) => [canonical(value), value])).values()];
export const by = (key, direction = 1) => (left, right) =>
  direction * (key(left) < key(right) ? -1 : key(left) > key(right) ? 1 : 0);
