// The collection: operations on its documents and their attachments.
//
// An operation is carried out when it is asked for; its callback runs later. The answer says whether
// it was accepted: false means that the script's time or request units run low.
const [READ, READ_FEED, QUERY, CREATE, UPSERT, REPLACE, DELETE] = [0, 1, 2, 3, 4, 5, 6];
const [DOCUMENT, ATTACHMENT] = [0, 1];
const [REFUSED, INVALID] = [0, 1];
const INDEX_ACTIONS = { __proto__: null, default: true, include: true, exclude: true };

// Options and callback from behind the arguments that a function requires. Options may be left out.
function tail(name, values, required) {
  if (values.length < required) {
    throw fail(400, `Function ${name} needs at least ${required} arguments, not ${values.length}.`);
  }
  let options = values[required];
  let callback = values[required + 1];
  if (typeof options === 'function' && callback === undefined) {
    callback = options;
    options = undefined;
  }
  return checkedTail(name, options, callback);
}

function checkedTail(name, options, callback) {
  if (options === null) options = undefined;
  if (callback === null) callback = undefined;
  if (options !== undefined && typeof options !== 'object') {
    throw fail(400, `Function ${name}: options must be an object.`);
  }
  if (callback !== undefined && typeof callback !== 'function') {
    throw fail(400, `Function ${name}: callback must be a function.`);
  }
  return { __proto__: null, options: options ?? { __proto__: null }, callback };
}

function optionalText(options, name) {
  const value = options[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw fail(400, `The option ${name} must be a string.`);
  return text(value);
}

// The options that the host understands.
function checkedOptions(options) {
  const indexAction = optionalText(options, 'indexAction');
  if (indexAction !== undefined && !INDEX_ACTIONS[lower(indexAction)]) {
    throw fail(400, 'The option indexAction must be "default", "include" or "exclude".');
  }
  const pageSize = options.pageSize ?? undefined;
  if (pageSize !== undefined && !(isInteger(pageSize) && pageSize >= -1 && pageSize !== 0)) {
    throw fail(400, 'The option pageSize must be -1 or a positive integer.');
  }
  return {
    __proto__: null,
    ifMatch: optionalText(options, 'etag'),
    ifNoneMatch: optionalText(options, 'ifNoneMatch'),
    indexAction: indexAction === undefined ? undefined : lower(indexAction),
    pageSize,
    continuation: optionalText(options, 'continuation'),
    enableScan: options.enableScan === true,
  };
}

// Carries out one operation: what came of it, or null if it was refused.
function perform(operation, resource, link, body, options) {
  if (aborted !== null) return null;
  if (body !== undefined && body.length > settings.bodyMax) {
    const message = `The body of ${body.length} characters is too large.`;
    return { __proto__: null, status: 413, body: message };
  }
  const outcome = native.call(operation, resource, text(link), body ?? null, stringify(options));
  if (outcome === REFUSED) return null;
  if (outcome === INVALID) throw fail(400, native.message());
  return {
    __proto__: null,
    status: native.status(),
    body: native.body(),
    continuation: native.continuation(),
    size: native.size(),
    sizeMax: native.sizeMax(),
  };
}

function replyError(reply) {
  if (reply.status < 400) return undefined;
  const error = fail(reply.status, reply.body ?? '');
  define(error, 'body', error.message);
  return error;
}

// What callbacks get as their last argument.
function replyOptions(reply) {
  const options = { statusCode: reply.status };
  if (reply.continuation !== undefined) options.continuation = reply.continuation;
  if (reply.size !== undefined) {
    options.currentCollectionSizeInMB = reply.size;
    options.maxCollectionSizeInMB = reply.sizeMax;
  }
  if (reply.status === 304) options.notModified = true;
  return options;
}

// An error that no callback takes ends the script.
function deliver(reply, callback, isDelete) {
  later(() => {
    const error = replyError(reply);
    if (callback === undefined) {
      if (error !== undefined) throw error;
      return;
    }
    const options = replyOptions(reply);
    if (isDelete) {
      callback(error, options);
      return;
    }
    const hasResource = error === undefined && reply.status !== 304 && typeof reply.body === 'string';
    callback(error, hasResource ? parse(reply.body) : undefined, options);
  });
}

function ask(operation, resource, link, body, { options, callback }) {
  if (typeof link !== 'string') throw fail(400, 'A link must be a string.');
  const reply = perform(operation, resource, link, body, checkedOptions(options));
  if (reply === null) return false;
  deliver(reply, callback, operation === DELETE);
  return true;
}

// The JSON text of a resource given as an object or as JSON text. A new one without an id gets one;
// the caller's own object stays as it is.
function resourceText(name, body, needsId, options) {
  const message = `Function ${name}: the body must be an object or a JSON string.`;
  let resource = body;
  if (typeof body === 'string') {
    try {
      resource = parse(body);
    } catch {
      throw fail(400, message);
    }
  }
  if (!isObject(resource) || isArray(resource)) throw fail(400, message);
  const { id } = resource;
  const hasId = id !== undefined && id !== null && id !== '';
  if (needsId && !hasId && options.disableAutomaticIdGeneration !== true) {
    resource = { ...resource };
    define(resource, 'id', native.guid());
  }
  const written = stringify(resource);
  if (written === undefined) throw fail(400, message);
  return written;
}

function queryText(name, query) {
  const isSpec = isObject(query) && typeof query.query === 'string';
  if (!isSpec && typeof query !== 'string') {
    throw fail(400, `Function ${name}: the query must be a string or { query, parameters }.`);
  }
  const spec = { __proto__: null, query: isSpec ? query.query : query };
  if (isSpec && query.parameters !== undefined) spec.parameters = query.parameters;
  return stringify(spec);
}

function readOne(name, resource) {
  return (...values) => {
    const rest = tail(name, values, 1);
    return ask(READ, resource, values[0], undefined, rest);
  };
}

function readAll(name, resource) {
  return (...values) => {
    const rest = tail(name, values, 1);
    return ask(READ_FEED, resource, values[0], undefined, rest);
  };
}

function query(name, resource) {
  return (...values) => {
    const rest = tail(name, values, 2);
    return ask(QUERY, resource, values[0], queryText(name, values[1]), rest);
  };
}

function write(name, operation, resource) {
  return (...values) => {
    const rest = tail(name, values, 2);
    const body = resourceText(name, values[1], operation !== REPLACE, rest.options);
    return ask(operation, resource, values[0], body, rest);
  };
}

function remove(name, resource) {
  return (...values) => {
    const rest = tail(name, values, 1);
    return ask(DELETE, resource, values[0], undefined, rest);
  };
}

class Collection {
  getSelfLink() {
    return settings.selfLink;
  }

  getAltLink() {
    return settings.altLink;
  }
}

const methods = {
  __proto__: null,
  readDocument: readOne('readDocument', DOCUMENT),
  readDocuments: readAll('readDocuments', DOCUMENT),
  queryDocuments: query('queryDocuments', DOCUMENT),
  createDocument: write('createDocument', CREATE, DOCUMENT),
  upsertDocument: write('upsertDocument', UPSERT, DOCUMENT),
  replaceDocument: write('replaceDocument', REPLACE, DOCUMENT),
  deleteDocument: remove('deleteDocument', DOCUMENT),
  readAttachment: readOne('readAttachment', ATTACHMENT),
  readAttachments: readAll('readAttachments', ATTACHMENT),
  queryAttachments: query('queryAttachments', ATTACHMENT),
  createAttachment: write('createAttachment', CREATE, ATTACHMENT),
  upsertAttachment: write('upsertAttachment', UPSERT, ATTACHMENT),
  replaceAttachment: write('replaceAttachment', REPLACE, ATTACHMENT),
  deleteAttachment: remove('deleteAttachment', ATTACHMENT),
};
for (const name in methods) define(Collection.prototype, name, methods[name], false);
