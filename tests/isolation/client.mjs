// A client on @azure/cosmos, in a process of its own: `client.mjs transfer|read ENDPOINT NAME SEED`.
// It does and reports what client.py does.

import { createRequire } from "node:module";

const require = createRequire(new URL("../js/package.json", import.meta.url));
const { CosmosClient } = require("@azure/cosmos");

const KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
const LOOPS = { transfer: 6, read: 3 };
const AFTER_ERROR_MS = 200;
const BETWEEN_READS_MS = 100;

// What there is: see bank.py.
const KEYS = Array.from({ length: 16 }, (_, n) => `branch${n}`);
const ACCOUNTS = Array.from({ length: 5 }, (_, n) => `account${n}`);
const TOTAL = 100 * ACCOUNTS.length;
const AMOUNT_MAX = 60;
const WHERE = "FROM c WHERE c.kind = 'account'";

let stopping = false;
const now = () => Date.now() / 1000;
const pause = (most) => new Promise((resolve) => setTimeout(resolve, most));
const say = (kind, members) => process.stdout.write(`${JSON.stringify({ kind, ...members })}\n`);
const add = (a, b) => a + b;

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

/** What is wrong with the accounts of a key; null if nothing is. */
function wrong(rows) {
  if (rows.map(({ id }) => id).sort().join() !== ACCOUNTS.join()) return `these accounts: ${rows.map(({ id }) => id)}`;
  const [balances, moves] = [rows.map(({ balance }) => balance), rows.map(({ moves: it }) => it)];
  const isRight = balances.reduce(add) === TOTAL && Math.min(...balances) >= 0 && moves.reduce(add) % 2 === 0;
  return isRight ? null : `balances ${balances} (sum ${balances.reduce(add)}), moves ${moves} (sum ${moves.reduce(add)})`;
}

/** An answer that something was not done. */
class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Somebody else was faster: read again. */
class Stale extends Error {}

/** Whether the server was not there: there is no status then. */
const isConnectionError = (error) => !Number.isInteger(error.code) && !Number.isInteger(error.statusCode);

class Loop {
  constructor(container, name, seed) {
    Object.assign(this, { container, name, roll: dice(`${seed}-${name}`), number: 0 });
  }

  one(list) {
    return list[Math.floor(this.roll() * list.length)];
  }

  procedure(name, pk, parameters) {
    return this.container.scripts.storedProcedure(name).execute(pk, parameters);
  }

  async batch(operations, pk) {
    const { result } = await this.container.items.batch(operations, pk);
    const at = result.findIndex(({ statusCode }) => statusCode >= 400 && statusCode !== 424);
    if (at < 0) return result.map(({ resourceBody }) => resourceBody);
    const { statusCode } = result[at];
    if (operations[at].operationType === "Replace" && statusCode === 412) throw new Stale();
    throw new Refused(statusCode, `operation ${at} of a batch: ${JSON.stringify(result)}`);
  }
}

/** A loop of transfers, one after the other. */
class Transfers extends Loop {
  /** One transfer, sent again under its id until there is an answer. */
  async step() {
    this.number += 1;
    const way = this.one(["byProcedure", "byProcedure", "byReplace", "byPatch"]);
    const payer = this.one(ACCOUNTS);
    const payee = this.one(ACCOUNTS.filter((id) => id !== payer));
    const amount = 1 + Math.floor(this.roll() * AMOUNT_MAX);
    const [pk, id, started] = [this.one(KEYS), `${this.name}-${this.number}`, now()];
    let [outcome, text, unanswered, stale] = ["unknown", "", 0, 0];
    for (;;) {
      [outcome, text] = await this.once(way, id, pk, payer, payee, amount);
      if ((outcome !== "unknown" && outcome !== "stale") || stopping) break;
      if (outcome === "stale") {
        stale += 1;
      } else {
        unanswered += 1;
        await pause(AFTER_ERROR_MS);
      }
    }
    say("transfer", { id, way: way.slice(2).toLowerCase(), outcome, text, unanswered, stale, started, ended: now() });
  }

  async once(way, id, ...transfer) {
    try {
      await this[way](id, ...transfer);
      return ["done", ""];
    } catch (error) {
      if (error instanceof Stale) return ["stale", ""];
      const text = `${error.code}/${error.substatus ?? 0}: ${error.message}`.slice(0, 400);
      if (isConnectionError(error)) return ["unknown", text];
      if (error.code === 409 || error.substatus === 409) return ["exists", ""];
      if ((way === "byPatch" && error.code === 412) || error.message.includes("declined")) return ["declined", ""];
      return ["refused", text];
    }
  }

  byProcedure(id, pk, payer, payee, amount) {
    return this.procedure("transfer", pk, [id, payer, payee, amount]);
  }

  /** Reads both, and replaces both if they are still the same. */
  async byReplace(id, pk, payer, payee, amount) {
    const found = await this.batch([payer, payee].map((it) => ({ operationType: "Read", id: it })), pk);
    if (found[0].balance < amount) throw new Refused(400, "declined");
    const replaces = found.map((document, at) => ({
      operationType: "Replace", id: document.id, ifMatch: document._etag,
      resourceBody: { ...document, balance: document.balance + (at ? amount : -amount), moves: document.moves + 1 },
    }));
    await this.batch([...replaces, this.journal(id, pk, payer, payee, amount, "replace")], pk);
  }

  /** Gives first, and takes it if there is enough. */
  async byPatch(id, pk, payer, payee, amount) {
    const operations = (by) => [{ op: "incr", path: "/balance", value: by }, { op: "incr", path: "/moves", value: 1 }];
    const condition = `FROM c WHERE c.balance >= ${amount}`;
    await this.batch([
      this.journal(id, pk, payer, payee, amount, "patch"),
      { operationType: "Patch", id: payee, resourceBody: { operations: operations(amount) } },
      { operationType: "Patch", id: payer, resourceBody: { condition, operations: operations(-amount) } },
    ], pk);
  }

  journal(id, pk, from, to, amount, way) {
    return { operationType: "Create", resourceBody: { id, pk, kind: "journal", from, to, amount, way } };
  }
}

/** A loop that adds up the accounts of a key, by every way there is. */
class Reads extends Loop {
  async step() {
    const [way, pk, started] = [this.one(["byQuery", "bySum", "byBatch", "byProcedure"]), this.one(KEYS), now()];
    try {
      const problem = await this[way](pk);
      say("read", { way: way.slice(2).toLowerCase(), problem: problem && `${pk}: ${problem}` });
      await pause(this.roll() * BETWEEN_READS_MS);
    } catch (error) {
      const text = `${way}: ${error.name} ${error.code} ${error.substatus ?? ""}: ${error.message}`.slice(0, 400);
      say("error", { connection: isConnectionError(error), status: error.code, started, ended: now(), text });
      await pause(AFTER_ERROR_MS);
    }
  }

  async query(text, partitionKey) {
    return (await this.container.items.query(text, { partitionKey }).fetchAll()).resources;
  }

  async byQuery(pk) {
    return wrong(await this.query(`SELECT c.id, c.balance, c.moves ${WHERE}`, pk));
  }

  async bySum(pk) {
    const found = await this.query(`SELECT VALUE SUM(c.balance) ${WHERE}`, pk);
    return found.length === 1 && found[0] === TOTAL ? null : `sum ${JSON.stringify(found)}`;
  }

  async byBatch(pk) {
    return wrong(await this.batch(ACCOUNTS.map((id) => ({ operationType: "Read", id })), pk));
  }

  async byProcedure(pk) {
    return wrong((await this.procedure("total", pk, [])).resource);
  }
}

const [role, endpoint, name, seed] = process.argv.slice(2);
const container = new CosmosClient({ endpoint, key: KEY }).database("isolation").container("bank");
const kind = { transfer: Transfers, read: Reads }[role];
const loops = Array.from({ length: LOOPS[role] }, (_, number) => new kind(container, `${name}${number}`, seed));
process.stdin.resume();
process.stdin.on("end", () => { stopping = true; });
say("ready");
await Promise.all(loops.map(async (loop) => { while (!stopping) await loop.step(); }));
say("end");
process.stdout.write("", () => process.exit(0));
