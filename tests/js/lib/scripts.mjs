// Stored procedures and triggers of the tests. What both languages test is in tests/support/scripts.

import { readFileSync } from "node:fs";

export function source(name) {
  return readFileSync(new URL(`../../support/scripts/${name}.js`, import.meta.url), "utf8");
}

/**
 * Registers a stored procedure, of the shared ones unless a body is given, and returns its caller:
 * what it answers for a key and arguments.
 */
export async function procedure(container, id, body = source(id)) {
  await container.scripts.storedProcedures.create({ id, body });
  return async (key, ...parameters) =>
    (await container.scripts.storedProcedure(id).execute(key, parameters)).resource;
}

/** Registers a trigger, of the shared ones unless a body is given, and returns its name. */
export async function trigger(container, id, triggerType, triggerOperation = "All", body = source(id)) {
  await container.scripts.triggers.create({ id, body, triggerType, triggerOperation });
  return id;
}
