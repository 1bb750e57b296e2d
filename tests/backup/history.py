"""What was written and when, and whether a restored database is as it was at one instant.

A writer sends one change after the other and waits for each answer. So at any instant the database
holds the changes of a writer up to some point, and none behind it: a restored database must hold,
of each writer, such a beginning. It must reach at least to the last change that was acknowledged
before the backup began, and no further than the last one that was sent before it ended.
"""

import hashlib
import json
import threading
import time

ABSENT = None


def checksum(document):
    """A digest over everything that a writer chose, to notice a torn or mixed document."""
    chosen = [document.get(name) for name in ("id", "pk", "version", "payload")]
    return hashlib.sha256(json.dumps(chosen).encode()).hexdigest()[:32]


def make_body(id, pk, version, payload):
    body = {"id": id, "pk": pk, "version": version, "payload": payload}
    return {**body, "sum": checksum(body)}


class Change:
    """One thing got one state: a version, or absent."""

    def __init__(self, thing, state):
        self.thing, self.state = thing, state
        self.sent = time.monotonic()
        self.acknowledged = None


class History:
    """The changes of one writer, in order."""

    def __init__(self, name):
        self.name = name
        self.changes = []
        self._lock = threading.Lock()

    def send(self, thing, state):
        change = Change(thing, state)
        with self._lock:
            self.changes.append(change)
        return change

    def acknowledge(self, change):
        change.acknowledged = time.monotonic()

    def forget_last(self):
        """The last change, whose answer was lost with the server, turned out not to have happened."""
        with self._lock:
            self.changes.pop()

    def last(self):
        with self._lock:
            return self.changes[-1] if self.changes else None

    def state(self):
        """What the last change left of each thing."""
        with self._lock:
            return {change.thing: change.state for change in self.changes}

    def problem(self, found, began, ended):
        """What is wrong with what was found of this writer's things (thing -> version), or None."""
        with self._lock:
            changes = list(self.changes)
        least = sum(1 for change in changes if change.acknowledged and change.acknowledged < began)
        most = sum(1 for change in changes if change.sent < ended)
        expected = {}
        wrong = {thing for thing, state in found.items() if state is not ABSENT}
        for count, change in enumerate([None, *changes[:most]]):
            if change:
                expected[change.thing] = change.state
                is_right = found.get(change.thing, ABSENT) == change.state
                (wrong.discard if is_right else wrong.add)(change.thing)
            if count >= least and not wrong:
                return None
        example = next(iter(wrong), None)
        return (f"{self.name}: no beginning of {least} to {most} changes is what was found; for one, "
                f"{example} is {found.get(example)}, at last it was {expected.get(example)}")
