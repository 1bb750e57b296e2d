// Before a book is written: every author that it names must exist.
function authorsExist() {
  const collection = getContext().getCollection();
  const book = getContext().getRequest().getBody();
  for (const { id } of book.authors) {
    const accepted = collection.readDocument(`${collection.getAltLink()}/docs/${id}`, (error) => {
      if (error) throw new Error(error.number, `The author ${id} does not exist.`);
    });
    if (!accepted) throw new Error('The authors could not be looked up.');
  }
}
