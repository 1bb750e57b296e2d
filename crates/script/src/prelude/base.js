// What the API needs of the language, taken before a script can change any of it. From here on no
// method of a built-in object is looked up by name: scripts may have replaced it.
const { parse, stringify } = JSON;
const { apply, construct } = Reflect;
const { defineProperty } = Object;
const { isArray } = Array;
const { isInteger, isFinite } = Number;
const makeText = String;
const toWellFormed = String.prototype.toWellFormed;
const toLowerCase = String.prototype.toLowerCase;
const split = String.prototype.split;
const slice = String.prototype.slice;
const includes = String.prototype.includes;
const sort = Array.prototype.sort;
const NativeError = Error;
const NativeInternalError = InternalError;

// A property that no setter or default of a prototype can bend.
function define(object, name, value, enumerable = true) {
  defineProperty(object, name, {
    __proto__: null, value, enumerable, writable: true, configurable: true,
  });
}

function append(list, value) {
  define(list, list.length, value);
}

// Text that survives the way out: half a surrogate pair does not.
function text(value) {
  return apply(toWellFormed, makeText(value), []);
}

function lower(value) {
  return apply(toLowerCase, text(value), []);
}

function isObject(value) {
  return typeof value === 'object' && value !== null;
}

// An error of the API.
function fail(number, message) {
  const error = new NativeError(message);
  define(error, 'number', number, false);
  define(error, 'description', message, false);
  return error;
}

// Scripts were written for an engine whose errors take a number: new Error(404, 'not found').
function numbered(values, target) {
  if (values.length < 2 || typeof values[0] !== 'number') return construct(NativeError, values, target);
  const error = construct(NativeError, [values[1]], target);
  define(error, 'number', values[0], false);
  define(error, 'description', error.message, false);
  return error;
}

const ErrorWithNumber = new Proxy(NativeError, {
  __proto__: null,
  construct: (_, values, target) => numbered(values, target === ErrorWithNumber ? NativeError : target),
  apply: (_, self, values) => numbered(values, NativeError),
});
define(NativeError.prototype, 'constructor', ErrorWithNumber, false);

const ErrorCodes = {
  BadRequest: 400,
  Forbidden: 403,
  NotFound: 404,
  Conflict: 409,
  PreconditionFailed: 412,
  RequestEntityTooLarge: 413,
  RetryWith: 449,
  InternalServerError: 500,
};

// Callbacks wait here until the script's main function has returned, and run in the order in which
// their operations were asked for. A list of nodes, since arrays can be tampered with.
let firstTask = null;
let lastTask = null;

function later(task) {
  const node = { __proto__: null, task, next: null };
  if (lastTask === null) firstTask = node;
  else lastTask.next = node;
  lastTask = node;
}

// Runs one callback; false when none is left.
function next() {
  if (firstTask === null) return false;
  const { task } = firstTask;
  firstTask = firstTask.next;
  if (firstTask === null) lastTask = null;
  task();
  return true;
}

// What abort was called with, in a box.
let aborted = null;
