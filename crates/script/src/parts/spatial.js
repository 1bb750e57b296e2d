// Geometry is the database's: each call is a query without a collection.
const { fail, perform, replyError } = shared;
const SQL_NAMES = {
  __proto__: null,
  distance: 'ST_DISTANCE',
  intersects: 'ST_INTERSECTS',
  within: 'ST_WITHIN',
  isValid: 'ST_ISVALID',
  isValidDetailed: 'ST_ISVALIDDETAILED',
};

function answer(name, shapes) {
  const count = name === 'isValid' || name === 'isValidDetailed' ? 1 : 2;
  if (shapes.length < count) {
    throw fail(400, 'Function ' + name + ' needs at least ' + count + ' arguments, not ' + shapes.length + '.');
  }
  const spec = {
    __proto__: null,
    query: 'SELECT VALUE ' + SQL_NAMES[name] + '(' + (count === 2 ? '@first, @second' : '@first') + ')',
    parameters: [],
  };
  append(spec.parameters, { __proto__: null, name: '@first', value: shapes[0] });
  if (count === 2) append(spec.parameters, { __proto__: null, name: '@second', value: shapes[1] });
  const reply = perform(stringify(spec), 1);
  if (reply === undefined) throw fail(449, 'Function ' + name + ' was refused: time or request units run low.');
  const error = replyError(reply);
  if (error !== undefined) throw error;
  const found = parse(reply.body);
  if (found.length === 0) {
    throw fail(400, 'Function ' + name + ': not valid GeoJSON. A point is '
      + '{ "type": "Point", "coordinates": [31.9, -4.8] }.');
  }
  return found[0];
}

return { __proto__: null, answer };
