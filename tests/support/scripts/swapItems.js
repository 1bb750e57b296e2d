// Exchanges the items of two players: both change hands, or none does.
function swapItems(firstId, secondId) {
  const collection = getContext().getCollection();

  read(firstId, (first) => read(secondId, (second) => {
    const item = first.item;
    first.item = second.item;
    second.item = item;
    replace(first, () => replace(second, () => {
      if (first.item === undefined || second.item === undefined) throw new Error(400, 'A player has no item.');
      getContext().getResponse().setBody(true);
    }));
  }));

  function read(id, then) {
    const query = { query: 'SELECT * FROM c WHERE c.id = @id', parameters: [{ name: '@id', value: id }] };
    must(collection.queryDocuments(collection.getSelfLink(), query, {}, (error, found) => {
      if (error) throw error;
      if (found.length !== 1) throw new Error(404, `There is no player ${id}.`);
      then(found[0]);
    }));
  }

  function replace(player, then) {
    must(collection.replaceDocument(player._self, player, { etag: player._etag }, (error) => {
      if (error) throw error;
      then();
    }));
  }

  function must(accepted) {
    if (!accepted) throw new Error('An operation was not accepted.');
  }
}
