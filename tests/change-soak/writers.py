"""Writers who remember what they did to each document, in order.

Every document has one writer, which does one thing at a time. A write that got no answer has
happened or not: its writer looks, once the server is back.

Some documents are made once and expire soon after. Of those that got no answer nobody can say
whether they were there.
"""

import random
import threading
import time

from http_client import UPSERT, Client, pk

DATABASE, COLLECTION = "soak", "things"
DOCS = f"/dbs/{DATABASE}/colls/{COLLECTION}/docs"
KEYS = 23
BATCH = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}
GONE = None  # the state of a document that does not exist


class Writer(threading.Thread):
    def __init__(self, number, port, stop):
        super().__init__(name=f"writer {number}", daemon=True)
        self.number, self.stop, self.client = number, stop, Client(port)
        self.dice = random.Random(number)
        self.history = {}  # (key, id) -> states, in order
        self.mortals, self.perhaps = set(), {}  # that expire; of those, what got no answer -> state
        self.writes, self.unknown, self.failure, self.version = 0, 0, None, 0

    def run(self):
        try:
            while not self.stop.is_set():
                self.step()
        except Exception as error:  # told by whoever waits for the thread
            self.failure = f"{self.name}: {error!r}"
        self.client.close()

    def step(self):
        key, id = f"key{self.dice.randrange(KEYS)}", self.dice.randrange(8)
        choice = self.dice.random()
        if choice < 0.1:
            self.mortal(key)
            return
        if choice < 0.25:
            self.batch(key, [f"w{self.number}-{(id + n) % 8}" for n in range(self.dice.randrange(2, 5))])
            return
        id = f"w{self.number}-{id}"
        if choice < 0.5 and self.state(key, id) is not GONE:
            self.attempt([(key, id, GONE)], lambda: self.client.delete(f"{DOCS}/{id}", pk(key)), {204})
        else:
            self.version += 1
            body = {"id": id, "pk": key, "n": self.version, "text": "x" * self.dice.randrange(2000)}
            self.attempt([(key, id, self.version)], lambda: self.client.post(DOCS, body, UPSERT), {200, 201})

    def batch(self, key, ids):
        self.version += 1
        operations = [
            {"operationType": "Upsert", "resourceBody": {"id": id, "pk": key, "n": self.version}} for id in ids
        ]
        changes = [(key, id, self.version) for id in ids]
        self.attempt(changes, lambda: self.client.post(DOCS, operations, BATCH | pk(key)), {200})

    def mortal(self, key):
        self.version += 1
        place = key, f"t{self.number}-{self.version}"
        body = {"id": place[1], "pk": key, "n": self.version, "ttl": self.dice.randrange(1, 4)}
        try:
            status = self.client.post(DOCS, body).status
        except OSError:
            self.client.close()
            self.unknown += 1
            status = 503
        if status == 503:
            self.perhaps[place] = self.version
            return
        assert status == 201, status
        self.writes += 1
        self.mortals.add(place)
        self.history[place] = [self.version, GONE]

    def state(self, key, id):
        states = self.history.get((key, id))
        return states[-1] if states else GONE

    def attempt(self, changes, send, expected):
        try:
            answer = send()
        except OSError:
            self.client.close()
            self.unknown += 1
            key, id, state = changes[0]
            if self.look(key, id) != state:
                return
        else:
            if answer.status == 503:
                # Stopping, or a commit that was cut off: it may have happened.
                key, id, state = changes[0]
                if self.look(key, id) != state:
                    return
            elif answer.status not in expected:
                raise AssertionError(f"{answer}")
        self.writes += 1
        for key, id, state in changes:
            self.history.setdefault((key, id), []).append(state)

    def look(self, key, id):
        """The state of a document, as soon as somebody answers."""
        while True:
            try:
                answer = self.client.get(f"{DOCS}/{id}", pk(key))
            except OSError:
                self.client.close()
                time.sleep(0.1)
                continue
            if answer.status in (200, 404):
                return answer.json["n"] if answer.status == 200 else GONE
            time.sleep(0.1)
