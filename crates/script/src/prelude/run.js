// What scripts find, and what the worker calls.
const collection = new Collection();

const context = {
  getCollection: () => collection,
  getRequest: () => request,
  getResponse() {
    if (isPreTrigger) throw fail(400, 'A pre-trigger has no response.');
    return response;
  },
  abort(error) {
    aborted ??= { __proto__: null, error };
    throw error;
  },
};

define(globalThis, 'Error', ErrorWithNumber, false);
define(globalThis, 'ErrorCodes', ErrorCodes, false);
define(globalThis, 'console', console, false);
if (settings.mode !== 'function') {
  const alias = { __proto__: collection, request };
  if (!isPreTrigger) alias.response = response;
  define(globalThis, 'getContext', () => context, false);
  define(globalThis, '__', alias, false);
}

// Calls a stored procedure or trigger. What it returns does not matter, not even a promise.
function start(main, written) {
  const values = written === '' ? [] : parse(written);
  if (!isArray(values)) throw fail(400, 'The arguments of a stored procedure must be an array.');
  apply(main, undefined, values);
}

// Calls a function for each row. Arguments and results are in boxes; what JSON cannot say is
// undefined, and then the box is empty.
function rows(main, written) {
  const all = parse(written);
  let out = '[';
  for (let at = 0; at < all.length; at++) {
    const values = [];
    for (let place = 0; place < all[at].length; place++) append(values, all[at][place][0]);
    const result = apply(main, undefined, values);
    const isSayable = typeof result !== 'number' || isFinite(result);
    out += `${at === 0 ? '' : ','}[${isSayable ? stringify(result) ?? '' : ''}]`;
  }
  return `${out}]`;
}

function finish() {
  const hasResponse = !isPreTrigger;
  const requestText = finishMessage(request, true);
  const responseText = hasResponse ? finishMessage(response, false) : undefined;
  native.bodies(responseText ?? null, isPreTrigger ? requestText ?? null : null);
}

// Says what was thrown. The thing may be anything, and fight back.
function describe(error) {
  const isMemory = error instanceof NativeInternalError && error.message === 'out of memory';
  let description = 'unknown';
  let stack = '';
  let number;
  try {
    description = isObject(error) && !(error instanceof NativeError)
      ? stringify(error) ?? text(error)
      : text(error);
    if (isObject(error) && isInteger(error.number)) number = error.number;
    if (isObject(error) && typeof error.stack === 'string') stack = frames(text(error.stack));
  } catch {
    // Then what is known by now has to do.
  }
  native.failure(isMemory, number ?? null, text(description), stack);
}

// The frames of a stack that are the script's own.
function frames(stack) {
  const lines = apply(split, stack, ['\n']);
  let out = '';
  for (let at = 0; at < lines.length && at < 50; at++) {
    const line = apply(slice, lines[at], [0, 300]);
    const isScript = line !== '' && !apply(includes, line, ['(sheaf:prelude'])
      && !apply(includes, line, ['(native)']);
    if (isScript) out += `${line}\n`;
  }
  return out;
}

return { start, rows, next, finish, describe, isAborted: () => aborted !== null, reason: () => aborted.error };
