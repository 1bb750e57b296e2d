// Inserts a book and counts it with each of its authors, in one transaction. An author who does not
// exist ends it, whoever comes before him in the list.
function publishBook(book) {
  const collection = getContext().getCollection();
  const authors = [];

  must(collection.createDocument(collection.getSelfLink(), book, (error, created) => {
    if (error) throw error;
    created.authors.forEach(({ id }) => count(id, created));
  }));

  function count(id, created) {
    must(collection.readDocument(`${collection.getAltLink()}/docs/${id}`, (error, author) => {
      if (error) throw new Error(error.number, `The author ${id} could not be read.`);
      author.countOfBooks = (author.countOfBooks || 0) + 1;
      author.books = (author.books || []).concat(created.id);
      must(collection.replaceDocument(author._self, author, { etag: author._etag }, (failure, replaced) => {
        if (failure) throw failure;
        authors.push({ id, countOfBooks: replaced.countOfBooks });
        getContext().getResponse().setBody({ book: created.id, authors });
      }));
    }));
  }

  function must(accepted) {
    if (!accepted) throw new Error('An operation was not accepted.');
  }
}
