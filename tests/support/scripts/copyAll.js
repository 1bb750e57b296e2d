// Copies documents under new ids, with promises. A failure is handed to abort: a rejected promise
// alone would undo nothing.
async function copyAll(ids, suffix) {
  const collection = getContext().getCollection();

  const read = (id) => new Promise((resolve, reject) => {
    const accepted = collection.readDocument(`${collection.getAltLink()}/docs/${id}`, (error, found) => {
      if (error) reject(error);
      else resolve(found);
    });
    if (!accepted) reject(new Error('The read was not accepted.'));
  });
  const create = (document) => new Promise((resolve, reject) => {
    const accepted = collection.createDocument(collection.getSelfLink(), document, (error, created) => {
      if (error) reject(error);
      else resolve(created);
    });
    if (!accepted) reject(new Error('The document was not accepted.'));
  });

  try {
    const made = [];
    for (const id of ids) {
      const document = await read(id);
      made.push((await create({ ...document, id: id + suffix })).id);
    }
    getContext().getResponse().setBody(made);
  } catch (error) {
    getContext().abort(error);
  }
}
