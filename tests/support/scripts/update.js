// Changes a document by operators, in the order in which they are given. With an etag it changes that
// version only. Answers with the new document.
function update(id, operators, etag) {
  const collection = getContext().getCollection();
  const link = `${collection.getAltLink()}/docs/${id}`;

  const changes = {
    $inc: (document, field, by) => { document[field] = number(document, field, 0) + by; },
    $mul: (document, field, by) => { document[field] = number(document, field, 0) * by; },
    $rename: (document, field, name) => {
      if (!(field in document)) return;
      document[name] = document[field];
      delete document[field];
    },
    $set: (document, field, value) => { document[field] = value; },
    $unset: (document, field) => { delete document[field]; },
    $min: (document, field, value) => { if (!(document[field] <= value)) document[field] = value; },
    $max: (document, field, value) => { if (!(document[field] >= value)) document[field] = value; },
    $currentDate: (document, field, type) => {
      document[field] = type === 'timestamp' ? Date.now() : new Date().toISOString();
    },
    $addToSet: (document, field, value) => {
      const set = array(document, field);
      const isThere = set.some((element) => JSON.stringify(element) === JSON.stringify(value));
      if (!isThere) set.push(value);
    },
    $pop: (document, field, end) => {
      if (end === -1) array(document, field).shift();
      else array(document, field).pop();
    },
    $push: (document, field, value) => { array(document, field).push(value); },
  };

  const accepted = collection.readDocument(link, (error, document) => {
    if (error) throw error;
    for (const [name, fields] of Object.entries(operators)) {
      if (!(name in changes)) throw new Error(ErrorCodes.BadRequest, `There is no operator ${name}.`);
      for (const [field, value] of Object.entries(fields)) changes[name](document, field, value);
    }
    const options = { etag: etag === undefined || etag === null ? document._etag : etag };
    const isReplaced = collection.replaceDocument(link, document, options, (failure, replaced) => {
      if (failure) throw failure;
      getContext().getResponse().setBody(replaced);
    });
    if (!isReplaced) throw new Error('The replacement was not accepted.');
  });
  if (!accepted) throw new Error('The read was not accepted.');

  function number(document, field, otherwise) {
    if (document[field] === undefined) return otherwise;
    if (typeof document[field] !== 'number') throw new Error(ErrorCodes.BadRequest, `${field} is no number.`);
    return document[field];
  }

  function array(document, field) {
    if (document[field] === undefined) document[field] = [];
    if (!Array.isArray(document[field])) throw new Error(ErrorCodes.BadRequest, `${field} is no array.`);
    return document[field];
  }
}
