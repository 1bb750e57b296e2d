// Before each part of the API that is read when it is first used: what the parts share. No method of a
// built-in object is looked up by name in here, since a script may have replaced it: `shared` has what
// was taken before the script began. Templates are avoided for the same reason: the engine makes
// calls of `concat` of them.
const { apply, defineProperty, makeText, parse, stringify, toWellFormed } = shared;

// A property that no setter or default of a prototype can bend.
function define(object, name, value, enumerable = true) {
  defineProperty(object, name, {
    __proto__: null, value, enumerable, writable: true, configurable: true,
  });
}

function append(list, value) {
  define(list, list.length, value);
}

function isObject(value) {
  return typeof value === 'object' && value !== null;
}

// Text that survives the way out: half a surrogate pair does not.
function text(value) {
  return apply(toWellFormed, makeText(value), []);
}
