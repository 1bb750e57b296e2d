// A client on @azure/cosmos, in a process of its own: `client.mjs write|query ENDPOINT NAME SEED`.
// It does and reports what client.py does.

import { createRequire } from "node:module";

const require = createRequire(new URL("../js/package.json", import.meta.url));
const { CosmosClient } = require("@azure/cosmos");

const KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
const LOOPS = { write: 3, query: 3 };
const DOCUMENTS = 40;
const AFTER_ERROR_MS = 200;
const BETWEEN_PAGES_MS = 20;

// What the documents are: see data.py.
const KEYS = 97;
const FIXED = 210;
const GROUPS = 7;
const ABSENT = 0;
const key = (number) => `key${number % KEYS}`;
const content = (id, version) => `${id} in version ${version}. `.repeat(1 + (version * 7) % 40);
const owned = (id, pk, version) => ({ id, pk, kind: "owned", version, text: content(id, version) });
const fixed = Array.from({ length: FIXED }, (_, n) => ({
  id: `fixed${n}`, pk: key(n * 31), kind: "fixed", n, group: 1 + (n * 5) % GROUPS, text: "x".repeat(n % 50),
}));

let stopping = false;
const now = () => Date.now() / 1000;
const pause = (most) => new Promise((resolve) => setTimeout(resolve, most));
const say = (kind, members) => process.stdout.write(`${JSON.stringify({ kind, ...members })}\n`);

/** Numbers from 0 to 1 that follow from a text. */
function dice(text) {
  let state = [...text].reduce((sum, letter) => (Math.imul(sum, 31) + letter.codePointAt(0)) | 0, 17);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Whether the server was not there: it has no status then. */
const isConnectionError = (error) => !Number.isInteger(error.code) && !Number.isInteger(error.statusCode);

async function runUntilStopped(worker) {
  while (!stopping) {
    const started = now();
    try {
      await worker.step();
    } catch (error) {
      const text = `${worker.doing}: ${error.name} ${error.code} ${error.substatus ?? ""}: ${error.message}`.slice(0, 600);
      say("error", { connection: isConnectionError(error), started, ended: now(), text });
      await pause(AFTER_ERROR_MS);
    }
  }
}

/** A loop that owns documents and changes them one after the other. */
class Writer {
  constructor(container, name, seed) {
    Object.assign(this, { container, roll: dice(`${seed}-${name}`), unknown: new Set() });
    this.ids = Array.from({ length: DOCUMENTS }, (_, number) => `${name}-${number}`);
    this.versions = new Map(this.ids.map((id) => [id, ABSENT]));
    this.last = new Map(this.ids.map((id) => [id, 0]));
    this.keys = new Map(this.ids.map((id) => [id, key(Math.floor(this.roll() * 1000))]));
  }

  item(id) {
    return this.container.item(id, this.keys.get(id));
  }

  async step() {
    for (const id of this.unknown) return this.read(id);
    const id = this.ids[Math.floor(this.roll() * this.ids.length)];
    const rolled = this.roll();
    const { items } = this.container;
    if (rolled < 0.25) return this.read(id);
    if (this.versions.get(id) === ABSENT) {
      return rolled < 0.7 ? this.put(id, "create", (body) => items.create(body)) : this.put(id, "upsert", (body) => items.upsert(body));
    }
    if (rolled < 0.4) return this.write(id, ABSENT, "delete", () => this.item(id).delete());
    return rolled < 0.7
      ? this.put(id, "replace", (body) => this.item(id).replace(body))
      : this.put(id, "upsert", (body) => items.upsert(body));
  }

  async read(id) {
    this.doing = `read of ${id}`;
    const { resource, statusCode, substatus } = await this.item(id).read();
    if (!resource && (statusCode !== 404 || substatus)) throw new Error(`read answers ${statusCode}/${substatus}`);
    const version = resource?.version ?? ABSENT;
    say("seen", { id, version, whole: !resource || resource.text === content(id, version) });
    this.versions.set(id, version);
    this.unknown.delete(id);
  }

  async put(id, method, send) {
    const version = this.last.get(id) + 1;
    this.last.set(id, version);
    await this.write(id, version, method, () => send(owned(id, this.keys.get(id), version)));
  }

  async write(id, version, method, send) {
    say("begin", { id, pk: this.keys.get(id), version, method });
    this.unknown.add(id);
    this.doing = `${method} of ${id}`;
    const started = now();
    await send();
    say("done", { id, version, started, ended: now() });
    this.versions.set(id, version);
    this.unknown.delete(id);
  }
}

const WHERE = "FROM c WHERE c.kind = 'fixed'";
const ordered = fixed.map(({ n }) => n);
const byGroup = [...fixed].sort((a, b) => a.group - b.group || b.n - a.n).map(({ n }) => n);
const groups = Array.from({ length: GROUPS }, (_, at) => ({ group: 1 + at, k: fixed.filter((it) => it.group === 1 + at).length }));

// Query, what it gives, whether in this order.
const QUERIES = [
  [`SELECT VALUE c.n ${WHERE} ORDER BY c.n`, ordered, true],
  [`SELECT VALUE c.n ${WHERE} ORDER BY c.n DESC`, [...ordered].reverse(), true],
  [`SELECT VALUE c.n ${WHERE} ORDER BY c["group"], c.n DESC`, byGroup, true],
  [`SELECT VALUE c.n ${WHERE}`, ordered, false],
  [`SELECT c.id, c.pk, c.kind, c.n, c["group"], c.text ${WHERE}`, fixed, false],
  [`SELECT VALUE c.n ${WHERE} ORDER BY c.n OFFSET 20 LIMIT 90`, ordered.slice(20, 110), true],
  [`SELECT TOP 50 VALUE c.n ${WHERE} ORDER BY c.n DESC`, [...ordered].reverse().slice(0, 50), true],
  [`SELECT VALUE COUNT(1) ${WHERE}`, [FIXED], true],
  [`SELECT VALUE SUM(c.n) ${WHERE}`, [ordered.reduce((a, b) => a + b)], true],
  [`SELECT DISTINCT VALUE c["group"] ${WHERE}`, groups.map(({ group }) => group), false],
  [`SELECT c["group"], COUNT(1) AS k ${WHERE} GROUP BY c["group"]`, groups, false],
];

// What the SDK can go on with from a token. An order by two paths is not among it, splits or not.
const RESUMED = [QUERIES[0], QUERIES[1], QUERIES[3]];

/** JSON with sorted names. */
function canonical(value) {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}

/** What is wrong with the rows of a query; null if nothing is. */
function differences(rows, expected, isOrdered) {
  const texts = [rows, expected].map((list) => list.map(canonical));
  if (!isOrdered) texts.forEach((list) => list.sort());
  if (texts[0].join() === texts[1].join()) return null;
  const [found, right] = texts;
  const count = (list, row) => list.filter((it) => it === row).length;
  const short = (list) => JSON.stringify(list.slice(0, 9).map((row) => row.slice(0, 60)));
  const missing = short(right.filter((row) => !found.includes(row)));
  const strange = short(found.filter((row) => !right.includes(row)));
  const twice = short([...new Set(found)].filter((row) => count(found, row) > count(right, row)));
  return `${rows.length} rows of ${expected.length}; missing ${missing}, strange ${strange}, too often ${twice}`;
}

/** A loop that asks what it knows the answer to. */
class Reader {
  constructor(container, name, seed) {
    Object.assign(this, { container, roll: dice(`${seed}-${name}`) });
  }

  one(list) {
    return list[Math.floor(this.roll() * list.length)];
  }

  async step() {
    const way = this.one(["paged", "paged", "resumed", "feed", "points"]);
    const started = now();
    this.doing = way;
    const [name, rows, expected, isOrdered] = await this[way]();
    say("asked", { name, problem: differences(rows, expected, isOrdered), started, ended: now() });
  }

  options() {
    const options = { maxItemCount: this.one([3, 7, 20, 100]) };
    if (this.roll() < 0.3) options.forceQueryPlan = true;
    if (this.roll() < 0.3) Object.assign(options, { maxDegreeOfParallelism: 10, bufferItems: true });
    return options;
  }

  async pages(iterator) {
    const rows = [];
    while (iterator.hasMoreResults()) {
      rows.push(...((await iterator.fetchNext()).resources ?? []));
      await pause(this.roll() * BETWEEN_PAGES_MS);
    }
    return rows;
  }

  /** All pages of one iterator, slowly, so that ranges change under it. */
  async paged() {
    const [query, expected, isOrdered] = this.one(QUERIES);
    this.doing = query;
    return [query, await this.pages(this.container.items.query(query, this.options())), expected, isOrdered];
  }

  /** Each page by a new iterator, from the token of the one before. */
  async resumed() {
    const query = this.one(RESUMED);
    const rows = [];
    let continuationToken;
    do {
      const options = { maxItemCount: this.one([7, 20]), enableQueryControl: true, continuationToken };
      const page = await this.container.items.query(query[0], options).fetchNext();
      rows.push(...(page.resources ?? []));
      continuationToken = page.hasMoreResults ? page.continuationToken : undefined;
      await pause(this.roll() * BETWEEN_PAGES_MS);
    } while (continuationToken);
    return [`resumed: ${query[0]}`, rows, query[1], query[2]];
  }

  async feed() {
    const all = await this.pages(this.container.items.query(undefined, { maxItemCount: 50 }));
    return ["feed", all.filter((it) => it.kind === "fixed").map(({ n }) => n), ordered, false];
  }

  async points() {
    const some = Array.from({ length: 9 }, () => this.one(fixed));
    const rows = [];
    for (const { id, pk } of some) rows.push((await this.container.item(id, pk).read()).resource?.n ?? null);
    return ["reads", rows, some.map(({ n }) => n), true];
  }
}

const [role, endpoint, name, seed] = process.argv.slice(2);
const container = new CosmosClient({ endpoint, key: KEY }).database("soak").container("things");
const kind = { write: Writer, query: Reader }[role];
const workers = Array.from({ length: LOOPS[role] }, (_, number) => new kind(container, `${name}${number}`, seed));
process.stdin.resume();
process.stdin.on("end", () => { stopping = true; });
say("ready");
await Promise.all(workers.map(runUntilStopped));
say("end");
process.stdout.write("", () => process.exit(0));
