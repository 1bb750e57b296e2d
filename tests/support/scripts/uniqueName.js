// Before a creation or replacement: no two documents of the key have the same name. Each name has a
// meta document that says whose it is; to create it twice is refused.
function uniqueName() {
  const collection = getContext().getCollection();
  const request = getContext().getRequest();
  const document = request.getBody();
  const isReplacement = request.getOperationType() !== 'Create';
  const metaId = `name-${document.name}`;

  if (isReplacement) find();
  else reserve();

  function find() {
    const query = { query: 'SELECT * FROM c WHERE c.isMeta AND c.owner = @id', parameters: [{ name: '@id', value: document.id }] };
    must(collection.queryDocuments(collection.getSelfLink(), query, (error, found) => {
      if (error) throw error;
      if (found.length > 0 && found[0].id === metaId) return;
      if (found.length > 0) release(found[0]);
      else reserve();
    }));
  }

  function release(meta) {
    must(collection.deleteDocument(meta._self, (error) => {
      if (error) throw error;
      reserve();
    }));
  }

  function reserve() {
    const meta = { id: metaId, pk: document.pk, isMeta: true, owner: document.id };
    must(collection.createDocument(collection.getSelfLink(), meta, (error) => {
      if (error) throw new Error(error.number, `The name ${document.name} is taken.`);
    }));
  }

  function must(accepted) {
    if (!accepted) throw new Error('An operation was not accepted.');
  }
}
