// Answers with a greeting.
function helloWorld(name) {
  getContext().getResponse().setBody(`Hello, ${name === undefined ? 'World' : name}`);
}
