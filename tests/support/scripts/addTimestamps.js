// Before a write: notes when the document was made, unless it says so itself, and when it was changed.
function addTimestamps() {
  const request = getContext().getRequest();
  const document = request.getBody();
  const now = new Date().toISOString();
  if (!('created' in document)) document.created = now;
  document.changed = now;
  document.by = request.getOperationType();
  request.setBody(document);
}
