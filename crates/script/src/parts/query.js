// The query API: filter, map, pluck, flatten, sortBy, sortByDescending, unwind, and chains of them,
// over documents that are fetched page by page.
const {
  checkedOptions, collectionPrototype, fail, isArray, isPreTrigger, isPrototypeOf, later, perform, replyError,
  replyOptions, response, sort, tail,
} = shared;
const PAGE_SIZE_DEFAULT = 100;

// Values of different types are ordered by type, as in ORDER BY.
const RANKS = { __proto__: null, undefined: 0, boolean: 2, number: 3, string: 4 };

function rank(value) {
  return value === null ? 1 : RANKS[typeof value] ?? 5;
}

function compare(left, right) {
  const leftRank = rank(left);
  const rightRank = rank(right);
  if (leftRank !== rightRank) return leftRank - rightRank;
  if (leftRank === 5) return 0;
  return left < right ? -1 : left > right ? 1 : 0;
}

function flattenInto(out, value, isShallow) {
  for (let at = 0; at < value.length; at++) {
    const element = value[at];
    if (!isArray(element)) append(out, element);
    else if (isShallow) for (let inner = 0; inner < element.length; inner++) append(out, element[inner]);
    else flattenInto(out, element, false);
  }
}

function sorted(rows, selector, direction) {
  const keyed = [];
  for (let at = 0; at < rows.length; at++) append(keyed, { row: rows[at], key: selector(rows[at]) });
  apply(sort, keyed, [(left, right) => direction * compare(left.key, right.key)]);
  const out = [];
  for (let at = 0; at < keyed.length; at++) append(out, keyed[at].row);
  return out;
}

// A step from rows to rows. Like a query, it leaves out what is undefined.
function eachRow(change) {
  return (rows) => {
    const out = [];
    for (let at = 0; at < rows.length; at++) change(rows[at], out);
    return out;
  };
}

function needFunction(name, what, value, length) {
  if (typeof value !== 'function') throw fail(400, 'Function ' + name + ': the ' + what + ' must be a function.');
  if (length !== undefined && value.length !== length) {
    throw fail(400, 'Function ' + name + ': the ' + what + ' must take ' + length + ' arguments.');
  }
}

// Each maker reads its own arguments and says how many they were.
const makers = {
  __proto__: null,
  filter(values) {
    const predicate = values[0];
    needFunction('filter', 'predicate', predicate);
    return step(1, eachRow((row, out) => { if (predicate(row)) append(out, row); }));
  },
  map(values) {
    const transform = values[0];
    needFunction('map', 'transformation', transform);
    return step(1, eachRow((row, out) => {
      const value = transform(row);
      if (value !== undefined) append(out, value);
    }));
  },
  pluck(values) {
    const name = values[0];
    if (typeof name !== 'string' || name === '') {
      throw fail(400, 'Function pluck: the property name must be a non-empty string.');
    }
    return step(1, eachRow((row, out) => {
      const value = isObject(row) ? row[name] : undefined;
      if (value !== undefined) append(out, value);
    }));
  },
  flatten(values) {
    const isGiven = typeof values[0] === 'boolean';
    return step(isGiven ? 1 : 0, (rows) => {
      const out = [];
      flattenInto(out, rows, isGiven && values[0]);
      return out;
    });
  },
  sortBy(values) {
    needFunction('sortBy', 'selector', values[0]);
    return step(1, (rows) => sorted(rows, values[0], 1), true);
  },
  sortByDescending(values) {
    needFunction('sortByDescending', 'selector', values[0]);
    return step(1, (rows) => sorted(rows, values[0], -1), true);
  },
  unwind(values) {
    const selector = values[0];
    const resultSelector = values[1];
    needFunction('unwind', 'collectionSelector', selector, 1);
    const hasResult = typeof resultSelector === 'function' && resultSelector.length === 2;
    return step(hasResult ? 2 : 1, eachRow((row, out) => {
      const inner = selector(row);
      if (!isArray(inner)) return;
      for (let at = 0; at < inner.length; at++) {
        const value = hasResult ? resultSelector(row, inner[at]) : [row, inner[at]];
        if (value !== undefined) append(out, value);
      }
    }));
  },
};

function step(used, run, needsAll = false) {
  return { __proto__: null, used, run, needsAll, before: null, sortsAny: needsAll };
}

function joinedSteps(before, added) {
  added.before = before;
  added.sortsAny = added.needsAll || (before !== null && before.sortsAny);
  return added;
}

function runSteps(last, rows) {
  return last === null ? rows : last.run(runSteps(last.before, rows));
}

// Fetches pages until there are enough rows. A sort needs all documents; everything else works page
// by page and goes on from a continuation. Null when nothing could be fetched or a sort not finished.
function evaluate(last, options) {
  const needsAll = last !== null && last.sortsAny;
  const pageSize = options.pageSize ?? PAGE_SIZE_DEFAULT;
  const rows = [];
  let continuation = options.continuation;
  let reply = null;
  for (;;) {
    const missing = needsAll || pageSize === -1 ? -1 : pageSize - rows.length;
    const page = perform(null, missing, continuation) ?? null;
    if (page === null) {
      if (reply === null || needsAll) return null;
      break;
    }
    reply = page;
    if (reply.status >= 400) return reply;
    const documents = parse(reply.body);
    const found = needsAll ? documents : runSteps(last, documents);
    for (let at = 0; at < found.length; at++) append(rows, found[at]);
    continuation = reply.continuation;
    if (continuation === undefined) break;
    if (!needsAll && pageSize !== -1 && rows.length >= pageSize) break;
  }
  reply.rows = needsAll ? runSteps(last, rows) : rows;
  reply.continuation = continuation;
  return reply;
}

// Without a callback the rows become the response's body, or their text is written behind that of what
// it holds.
function respond(rows) {
  const before = response.getBody();
  if (before === undefined) response.setBody(rows);
  else response.setBody((isObject(before) ? stringify(before) : before) + stringify(rows));
}

function answer(name, last, { options, callback }) {
  if (callback === undefined && isPreTrigger) {
    throw fail(400, 'Function ' + name + ': in a pre-trigger a callback is needed.');
  }
  const reply = evaluate(last, checkedOptions(options));
  if (reply === null) return { isAccepted: false };
  later(() => {
    const error = replyError(reply);
    if (callback !== undefined) callback(error, reply.rows, replyOptions(reply));
    else if (error !== undefined) throw error;
    else respond(reply.rows);
  });
  return { isAccepted: true };
}

class Chain {
  #last = null;

  static after(chain, name, values) {
    const added = makers[name](values);
    if (values.length > added.used) {
      throw fail(400, 'Function ' + name + ': in a chain, options and callback belong to value().');
    }
    const longer = new Chain();
    longer.#last = joinedSteps(chain.#last, added);
    return longer;
  }

  value(...values) {
    return answer('value', this.#last, tail('value', 0, values));
  }
}

const chainAfter = Chain.after;
delete Chain.after;

// The collection may stand before the other arguments. There is only one.
function behindCollection(values) {
  if (!apply(isPrototypeOf, collectionPrototype, [values[0]])) return values;
  const rest = [];
  for (let at = 1; at < values.length; at++) append(rest, values[at]);
  return rest;
}

for (const name in makers) {
  define(Chain.prototype, name, function (...given) {
    return chainAfter(this, name, behindCollection(given));
  }, false);
}

return {
  __proto__: null,
  answer(name, given) {
    const values = behindCollection(given);
    const only = makers[name](values);
    return answer(name, only, tail(name, only.used, values));
  },
  chain: () => new Chain(),
};
