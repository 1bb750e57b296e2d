// After a creation: the smallest, largest and total size of the key's documents, in a document of
// its own. A document without a size is refused, although it has been written by then.
function updateMetadata() {
  const collection = getContext().getCollection();
  const created = getContext().getResponse().getBody();
  if (typeof created.size !== 'number') throw new Error(400, 'A document needs a size.');
  const link = `${collection.getAltLink()}/docs/_metadata`;

  must(collection.readDocument(link, (error, found) => {
    if (error && error.number !== ErrorCodes.NotFound) throw error;
    const meta = found || { id: '_metadata', pk: created.pk, count: 0, total: 0, min: created.size, max: created.size };
    meta.count++;
    meta.total += created.size;
    meta.min = Math.min(meta.min, created.size);
    meta.max = Math.max(meta.max, created.size);
    must(collection.upsertDocument(collection.getSelfLink(), meta, (failure) => {
      if (failure) throw failure;
    }));
  }));

  function must(accepted) {
    if (!accepted) throw new Error('An operation was not accepted.');
  }
}
