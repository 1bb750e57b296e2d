// Adds up a property over all documents of the key, with the query functions of `__`.
function sum(property) {
  const result = __.chain()
    .filter((document) => typeof document[property] === 'number')
    .map((document) => document[property])
    .value({ pageSize: -1 }, (error, numbers) => {
      if (error) throw error;
      __.response.setBody({ sum: numbers.reduce((total, number) => total + number, 0), count: numbers.length });
    });
  if (!result.isAccepted) throw new Error('The documents could not be read in time.');
}
