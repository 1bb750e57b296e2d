// Takes the id of a reading that a device has sent and notes in the device's state document the latest
// reading of each metric, and how many there were. A late reading is counted, but changes no state.
function setLatestStateAcrossReadings(readingId) {
  const collection = getContext().getCollection();
  const at = (id) => `${collection.getAltLink()}/docs/${id}`;

  must(collection.readDocument(at(readingId), (error, reading) => {
    if (error) throw error;
    const stateId = `state-of-${reading.deviceId}`;
    must(collection.readDocument(at(stateId), (failure, found) => {
      if (failure && failure.number !== ErrorCodes.NotFound) throw failure;
      const state = found || { id: stateId, deviceId: reading.deviceId, readings: 0, latest: {} };
      apply(state, reading);
      must(collection.upsertDocument(collection.getSelfLink(), state, (refused, written) => {
        if (refused) throw refused;
        getContext().getResponse().setBody(written);
      }));
    }));
  }));

  function apply(state, { id, metricType, metricValue, unit, readingTime }) {
    state.readings++;
    const known = state.latest[metricType];
    if (known && known.readingTime >= readingTime) return;
    state.latest[metricType] = { readingId: id, metricValue, unit, readingTime };
  }

  function must(accepted) {
    if (!accepted) throw new Error('An operation was not accepted.');
  }
}
