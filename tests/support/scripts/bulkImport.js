// Creates documents one after the other for as long as they are accepted, and answers with how many
// there are. The caller comes back with the rest.
function bulkImport(documents) {
  const collection = getContext().getCollection();
  const response = getContext().getResponse();
  let count = 0;
  if (!Array.isArray(documents)) throw new Error(400, 'The documents must be an array.');
  next();

  function next() {
    const isDone = count === documents.length
      || !collection.createDocument(collection.getSelfLink(), documents[count], created);
    if (isDone) response.setBody(count);
  }

  function created(error) {
    if (error) throw error;
    count++;
    next();
  }
}
