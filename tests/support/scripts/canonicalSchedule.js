// Before a write: days in one spelling, each once, from Monday on, and times of two digits each.
function canonicalSchedule() {
  const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
  const request = getContext().getRequest();
  const document = request.getBody();
  const { days, start, end } = document.schedule;
  const found = new Set(days.map(day));
  document.schedule = { days: DAYS.filter((name) => found.has(name)), start: time(start), end: time(end) };
  request.setBody(document);

  function day(text) {
    const name = text.trim().slice(0, 3).toLowerCase();
    if (!DAYS.includes(name)) throw new Error(400, `There is no day ${text}.`);
    return name;
  }

  function time(text) {
    const parts = /^(\d{1,2})(?:[:.](\d{2}))?$/.exec(text);
    if (!parts || parts[1] > 23) throw new Error(400, `There is no time ${text}.`);
    return `${parts[1].padStart(2, '0')}:${parts[2] || '00'}`;
  }
}
