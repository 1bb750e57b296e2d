// Creates a document and answers with its id, which the database makes if the document has none.
function createDocument(document) {
  const collection = getContext().getCollection();
  const accepted = collection.createDocument(collection.getSelfLink(), document, (error, created) => {
    if (error) throw error;
    getContext().getResponse().setBody(created.id);
  });
  if (!accepted) throw new Error('The document was not accepted.');
}
