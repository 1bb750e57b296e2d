// Moves an amount. It writes first and looks afterwards: an account that is overdrawn then, or a
// journal document that exists already, must take back what was written.
function transfer(journal, from, to, amount) {
  const collection = getContext().getCollection();
  const link = (id) => `${collection.getAltLink()}/docs/${id}`;
  const accept = (isAccepted) => {
    if (!isAccepted) throw new Error("refused: no time left");
  };
  const then = (next) => (error, document) => {
    if (error) throw new Error(error.number, `operation: ${error.body}`);
    next(document);
  };
  const move = (document, by, next) => {
    document.balance += by;
    document.moves += 1;
    accept(collection.replaceDocument(link(document.id), document, { etag: document._etag }, then(next)));
  };
  accept(collection.readDocument(link(from), then((payer) => {
    move(payer, -amount, () => {
      accept(collection.readDocument(link(to), then((payee) => {
        move(payee, amount, () => {
          const entry = { id: journal, pk: payer.pk, kind: "journal", from, to, amount, way: "procedure" };
          accept(collection.createDocument(collection.getSelfLink(), entry, {}, then(() => {
            if (payer.balance < 0) throw new Error("declined: not enough money");
            getContext().getResponse().setBody({ from: payer.balance, to: payee.balance });
          })));
        });
      })));
    });
  })));
}
