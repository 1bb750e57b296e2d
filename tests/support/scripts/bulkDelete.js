// Deletes what a query finds. Answers { deleted, continuation }: while the latter is true there is more
// to delete than one call could, and the caller comes back.
function bulkDelete(query) {
  const collection = getContext().getCollection();
  const answer = { deleted: 0, continuation: true };
  if (typeof query !== 'string') throw new Error(400, 'A query is needed.');
  find();

  function find() {
    // What is deleted is not found again, so every page is the first one.
    const accepted = collection.queryDocuments(collection.getSelfLink(), query, { pageSize: 20 }, (error, found) => {
      if (error) throw error;
      answer.continuation = found.length > 0;
      if (found.length > 0) remove(found, 0);
      else stop();
    });
    if (!accepted) stop();
  }

  function remove(found, at) {
    if (at === found.length) {
      find();
      return;
    }
    const accepted = collection.deleteDocument(found[at]._self, {}, (error) => {
      if (error) throw error;
      answer.deleted++;
      remove(found, at + 1);
    });
    if (!accepted) stop();
  }

  function stop() {
    getContext().getResponse().setBody(answer);
  }
}
