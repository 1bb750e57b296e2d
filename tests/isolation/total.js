// All accounts of the key, by a query inside a script.
function total() {
  const collection = getContext().getCollection();
  const query = "SELECT c.id, c.balance, c.moves FROM c WHERE c.kind = 'account'";
  collection.queryDocuments(collection.getSelfLink(), query, (error, rows) => {
    if (error) throw error;
    getContext().getResponse().setBody(rows);
  });
}
