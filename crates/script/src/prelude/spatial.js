// Geometry is the database's: each call is a query without a collection.
function spatialCall(name, sqlName, count) {
  return (...shapes) => {
    if (shapes.length < count) {
      throw fail(400, `Function ${name} needs at least ${count} arguments, not ${shapes.length}.`);
    }
    const spec = {
      __proto__: null,
      query: `SELECT VALUE ${sqlName}(${count === 2 ? '@first, @second' : '@first'})`,
      parameters: [],
    };
    append(spec.parameters, { __proto__: null, name: '@first', value: shapes[0] });
    if (count === 2) append(spec.parameters, { __proto__: null, name: '@second', value: shapes[1] });
    const options = { __proto__: null, pageSize: 1 };
    const reply = perform(QUERY, DOCUMENT, settings.selfLink, stringify(spec), options);
    if (reply === null) throw fail(449, `Function ${name} was refused: time or request units run low.`);
    if (reply.status >= 400) throw replyError(reply);
    const found = parse(reply.body);
    if (found.length === 0) {
      throw fail(400, `Function ${name}: not valid GeoJSON. A point is `
        + '{ "type": "Point", "coordinates": [31.9, -4.8] }.');
    }
    return found[0];
  };
}

define(Collection.prototype, 'spatial', {
  distance: spatialCall('distance', 'ST_DISTANCE', 2),
  intersects: spatialCall('intersects', 'ST_INTERSECTS', 2),
  within: spatialCall('within', 'ST_WITHIN', 2),
  isValid: spatialCall('isValid', 'ST_ISVALID', 1),
  isValidDetailed: spatialCall('isValidDetailed', 'ST_ISVALIDDETAILED', 1),
}, false);
