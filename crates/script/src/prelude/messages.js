// The request and the response as scripts see them, and the log.
function limited(value) {
  const written = stringify(value);
  if (written !== undefined && written.length > settings.bodyMax) {
    throw fail(413, `The message of ${written.length} characters is too large: the limit is `
      + `${settings.bodyMax}. Return less, and a continuation for the rest.`);
  }
  return written;
}

// Text and numbers join as text, also when nothing is there yet; an object begins as itself.
function joined(before, value) {
  if (before === undefined || before === null || before === '') {
    return isObject(value) ? value : '' + value;
  }
  return before + value;
}

// The body is a property like the others, too.
function isBody(name) {
  return lower(name) === 'body';
}

class Message {
  #body;
  #written;
  #values = { __proto__: null };
  #mayWrite;

  constructor(written, values, mayWrite) {
    this.#written = written;
    this.#body = written === undefined || written === null ? undefined : parse(written);
    this.#mayWrite = mayWrite;
    for (let at = 0; at < values.length; at++) {
      const { name, value, writable } = values[at];
      this.#values[lower(name)] = { __proto__: null, name, value, writable, isChanged: false };
    }
  }

  getBody() {
    return this.#body;
  }

  setBody(value) {
    if (!this.#mayWrite) throw fail(400, 'The body cannot be set here.');
    this.#written = limited(value);
    this.#body = value;
  }

  appendBody(value) {
    this.setBody(joined(this.#body, value));
  }

  getValue(name) {
    return isBody(name) ? this.#body : this.#values[lower(name)]?.value;
  }

  setValue(name, value) {
    if (isBody(name)) return this.setBody(value);
    const property = this.#values[lower(name)];
    if (property === undefined) throw fail(400, `There is no property "${text(name)}" to be set.`);
    if (!property.writable) throw fail(403, `The property "${property.name}" is read-only.`);
    limited(value);
    property.value = value;
    property.isChanged = true;
  }

  appendValue(name, value) {
    this.setValue(name, joined(this.getValue(name), value));
  }

  static finish(message, isRequest) {
    for (const key in message.#values) {
      const property = message.#values[key];
      if (property.isChanged) native.value(isRequest, property.name, text(property.value));
    }
    return message.#written;
  }
}

class Request extends Message {
  getOperationType() {
    return settings.operationType;
  }
}

class Response extends Message {
  getResourceQuotaCurrentUsage() {
    return settings.quotaCurrent;
  }

  getMaxResourceQuota() {
    return settings.quotaMax;
  }
}

const finishMessage = Message.finish;
delete Message.finish;

const isPreTrigger = settings.mode === 'preTrigger';
const request = new Request(settings.requestBody, settings.requestValues, isPreTrigger);
const response = new Response(settings.responseBody, settings.responseValues, true);

// One argument of console.log in words.
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
      } else if (kind !== undefined && apply(includes, 'sdifjoO', [kind]) && at < values.length) {
        const value = values[at++];
        if (kind === 's') out += shown(value);
        else if (kind === 'd' || kind === 'f') out += +value;
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

const console = {
  log(...values) {
    if (settings.logging) native.log(text(formatted(values)));
  },
};
