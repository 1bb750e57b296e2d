// Before a creation: the id in upper case.
function upperCaseId() {
  const request = getContext().getRequest();
  const document = request.getBody();
  document.id = document.id.toUpperCase();
  request.setBody(document);
}
