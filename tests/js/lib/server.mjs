// A server of a test's own, with a data directory, that can be stopped and started again.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

export class Server {
  #process;
  #directory;

  /** Starts the binary that SHEAF_BIN names (`run` sets it) on a fresh directory. */
  static async create() {
    assert.ok(process.env.SHEAF_BIN, "SHEAF_BIN must name the sheaf binary");
    const server = new Server();
    server.#directory = await mkdtemp(join(tmpdir(), "sheaf-js-"));
    await server.start();
    return server;
  }

  get #data() {
    return join(this.#directory, "data");
  }

  /** Replaces keys of the running server, and returns the new ones by name. */
  async regenerate(name) {
    const words = ["keys", "regenerate", name, "--data-dir", this.#data];
    const { stdout } = await promisify(execFile)(process.env.SHEAF_BIN, words);
    return Object.fromEntries([...stdout.matchAll(/^(\w+) = "(.*)"$/gm)].map(([, word, key]) => [word, key]));
  }

  async start() {
    const child = spawn(process.env.SHEAF_BIN, ["serve", "--port", "0", "--data-dir", this.#data], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#process = child;
    const lines = createInterface({ input: child.stdout });
    const [ready] = await Promise.race([once(lines, "line"), once(child, "exit").then(([code]) => [`exit code ${code}`])]);
    assert.match(ready, /^ready endpoint=/, "the server did not start");
    this.endpoint = ready.slice("ready endpoint=".length);
  }

  async stop() {
    const exit = once(this.#process, "exit");
    this.#process.kill("SIGTERM");
    const [code] = await exit;
    assert.equal(code, 0, "the server did not stop cleanly");
  }

  async restart() {
    await this.stop();
    await this.start();
  }

  /** Stops the server and removes its data. */
  async destroy() {
    await this.stop();
    await rm(this.#directory, { recursive: true });
  }
}
