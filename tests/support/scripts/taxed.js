// Creates a document and answers with the ids and taxes of all that earn enough, as the function `tax`
// computes them: of its own document, too.
function taxed(document, least) {
  const collection = getContext().getCollection();
  const link = collection.getSelfLink();
  const query = {
    query: 'SELECT c.id, udf.tax(c.income) AS tax FROM c WHERE udf.tax(c.income) >= @least',
    parameters: [{ name: '@least', value: least }],
  };
  must(collection.createDocument(link, document, (error) => {
    if (error) throw error;
    must(collection.queryDocuments(link, query, (failure, rows) => {
      if (failure) throw failure;
      getContext().getResponse().setBody(rows);
    }));
  }));

  function must(accepted) {
    if (!accepted) throw new Error('An operation was not accepted.');
  }
}
