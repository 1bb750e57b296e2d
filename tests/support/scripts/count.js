// Counts the documents that a query finds, page by page. Answers { count, continuation }; the caller
// hands the continuation back until there is none.
function count(query, continuation) {
  const collection = getContext().getCollection();
  const answer = { count: 0, continuation };
  page();

  function page() {
    const options = { pageSize: 7, continuation: answer.continuation };
    const accepted = collection.queryDocuments(collection.getSelfLink(), query, options, (error, found, reply) => {
      if (error) throw error;
      answer.count += found.length;
      answer.continuation = reply.continuation;
      if (answer.continuation) page();
      else stop();
    });
    if (!accepted) stop();
  }

  function stop() {
    getContext().getResponse().setBody(answer);
  }
}
