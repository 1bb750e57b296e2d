// Says what was thrown. The thing may be anything, and fight back.
const { NativeError, NativeInternalError, failure } = shared;

function describe(error) {
  const isMemory = error instanceof NativeInternalError && error.message === 'out of memory';
  let description = 'unknown';
  let stack = '';
  let number = null;
  try {
    description = isObject(error) && !(error instanceof NativeError)
      ? stringify(error) ?? text(error)
      : text(error);
    // No integer leaves a rest, and nothing else leaves none.
    if (isObject(error) && typeof error.number === 'number' && error.number % 1 === 0) number = error.number;
    if (isObject(error) && typeof error.stack === 'string') stack = text(error.stack);
  } catch {
    // Then what is known by now has to do.
  }
  failure(isMemory, number, text(description), stack);
}

return { __proto__: null, describe };
