// Writes to the log, then fails if it is told to.
function talk(name, shouldFail) {
  console.log('Hello %s, you are number %d.\n', name, 7);
  console.log({ größe: [1, 2] });
  if (shouldFail) throw new Error(418, 'I was told to fail.');
}
