// Counts the documents that a query finds, page by page, a number of pages at most if one is given. Answers
// { count, continuation }; the caller hands the continuation back until there is none.
function count(query, continuation, pagesMax) {
  const collection = getContext().getCollection();
  const answer = { count: 0, continuation };
  let pages = 0;
  page();

  function page() {
    const options = { pageSize: 7, continuation: answer.continuation };
    const accepted = collection.queryDocuments(collection.getSelfLink(), query, options, (error, found, reply) => {
      if (error) throw error;
      answer.count += found.length;
      answer.continuation = reply.continuation;
      pages++;
      if (answer.continuation && pages !== pagesMax) page();
      else stop();
    });
    if (!accepted) stop();
  }

  function stop() {
    getContext().getResponse().setBody(answer);
  }
}
