// What console.log writes.
const { NativeError } = shared;
const KINDS = { __proto__: null, s: true, d: true, i: true, f: true, j: true, o: true, O: true };

// One argument in words.
function shown(value) {
  if (!isObject(value)) return text(value);
  if (value instanceof NativeError) return text(value);
  try {
    return text(stringify(value));
  } catch {
    return text(value);
  }
}

// The first argument may hold places for the others: %s %d %i %f %j %o, and %% for the sign itself.
function formatted(values) {
  let at = 0;
  let out = '';
  if (typeof values[0] === 'string') {
    const format = values[0];
    at = 1;
    for (let place = 0; place < format.length; place++) {
      const kind = format[place] === '%' ? format[place + 1] : undefined;
      if (kind === '%') {
        out += '%';
        place++;
      } else if (kind !== undefined && KINDS[kind] && at < values.length) {
        const value = values[at++];
        if (kind === 'd' || kind === 'f') out += +value;
        else if (kind === 'i') out += (+value) - (+value) % 1;
        else out += shown(value);
        place++;
      } else {
        out += format[place];
      }
    }
  }
  for (; at < values.length; at++) out += (out === '' ? '' : ' ') + shown(values[at]);
  return out;
}

return { __proto__: null, write: (values) => text(formatted(values)) };
