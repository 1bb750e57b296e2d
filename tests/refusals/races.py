"""The races: some clients ask for the same thing at the same moment, and all but one are refused.

All clients of a team take the same steps, side by side: nobody begins a step before all have ended
the one before. So what an answer tells must be true until the next step begins.
"""

import itertools
import json
import random
import threading

from wire import DISCONNECTED, Client, parse_session_token

DATABASE, COLLECTION = "refusals", "c"
LINK = f"dbs/{DATABASE}/colls/{COLLECTION}"
CLIENTS = 4   # of a team
TEAMS = 3


def set_up(port):
    client = Client(port)
    body = {"id": COLLECTION, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
            "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]}}
    for response in (client.request("POST", "dbs", "", "/dbs", {"id": DATABASE}),
                     client.request("POST", "colls", f"dbs/{DATABASE}", f"/dbs/{DATABASE}/colls", body)):
        if response.status != 201:
            raise RuntimeError(f"set up: {response.status} {response.body[:300]}")
    client.close()


class Ledger:
    """What was told, and what of it was not true."""

    def __init__(self):
        self.problems, self.promises = [], []
        self.races = self.refusals = self.in_doubt = 0
        self.lsn = {}
        self._lock = threading.Lock()

    def problem(self, text):
        with self._lock:
            self.problems.append(text)
            print(text, flush=True)

    def note(self, response):
        """Notes the LSN that an answer tells: no later answer may come from before it."""
        token = parse_session_token(response.headers.get("x-ms-session-token", ""))
        if token:
            with self._lock:
                self.lsn[token[0]] = max(token[1], self.lsn.get(token[0], 0))

    def session(self):
        with self._lock:
            return ",".join(f"{range_id}:-1#{lsn}" for range_id, lsn in self.lsn.items())

    def promise(self, race):
        with self._lock:
            self.promises.append(race)

    def check(self, port):
        """After a restart: what the answers of the last life told must still be true."""
        client = Client(port)
        for race in self.promises:
            self.races += 1
            self.refusals += race.refusals
            self.in_doubt += race.is_open
            problem = race.check(client, self.session())
            if problem:
                self.problem(f"after the restart: {problem}")
        self.promises.clear()
        client.close()


def document(client, id, pk, session=""):
    """The document as a reader finds it; None if it is not there."""
    link = f"{LINK}/docs/{id}"
    headers = {"x-ms-documentdb-partitionkey": json.dumps([pk])}
    if session:
        headers |= {"x-ms-session-token": session, "x-ms-consistency-level": "Session"}
    response = client.request("GET", "docs", link, f"/{link}", headers=headers)
    if response.headers.get("x-ms-substatus") == "1002":
        raise AssertionError(f"{id}: the server is behind the session {session}")
    if response.status not in (200, 404):
        raise AssertionError(f"{id}: a read answers {response.status} {response.body[:200]}")
    return json.loads(response.body) if response.status == 200 else None


class Race:
    """One step of a team. `begin` is called by each client before it asks, `told` with the answer."""

    done, refused = None, None   # the status of the winner and of the others

    def __init__(self, name, pk, before=None):
        self.name, self.pk, self.before = name, pk, before
        self.is_begun = self.is_told = self.is_over = False
        self.refusals = 0

    @property
    def is_open(self):
        """Whether the server may have died before anybody was told."""
        return self.is_begun and not self.is_told

    def run(self, ledger, client, number):
        self.is_begun = True
        response = self.ask(client, number)
        if response.status not in (self.done, self.refused):
            ledger.problem(f"{self.name}: {response.status} {response.body[:200]}")
            return
        self.is_told = True
        ledger.note(response)
        if response.status == self.refused:
            self.refusals += 1
        session = response.headers.get("x-ms-session-token", "")
        problem = self.look(client, session)
        if problem:
            ledger.problem(f"{response.status} and then: {problem}")

    def check(self, client, session):
        """What is wrong, if anything was told and no later step may have changed it."""
        return self.look(client, session) if self.is_told and not self.is_over else None

    def post(self, client, id, more=None):
        body = {"id": id, "pk": self.pk, "u": id, **(more or {})}
        headers = {"x-ms-documentdb-partitionkey": json.dumps([self.pk])}
        return client.request("POST", "docs", LINK, f"/{LINK}/docs", body, headers)


class Create(Race):
    """All create one id."""

    done, refused = 201, 409

    def ask(self, client, number):
        return self.post(client, self.name)

    def look(self, client, session):
        return None if document(client, self.name, self.pk, session) else f"{self.name} is not there"


class Delete(Race):
    """All delete one id."""

    done, refused = 204, 404

    def ask(self, client, number):
        link = f"{LINK}/docs/{self.name}"
        headers = {"x-ms-documentdb-partitionkey": json.dumps([self.pk])}
        return client.request("DELETE", "docs", link, f"/{link}", headers=headers)

    def look(self, client, session):
        return f"{self.name} is there" if document(client, self.name, self.pk, session) else None


class Replace(Race):
    """All replace the version that was there before."""

    done, refused = 200, 412

    def __init__(self, name, pk, before):
        super().__init__(name, pk, before)
        self._etag, self._lock = None, threading.Lock()

    def ask(self, client, number):
        with self._lock:
            if self._etag is None:
                self._etag = document(client, self.name, self.pk)["_etag"]
        link = f"{LINK}/docs/{self.name}"
        headers = {"x-ms-documentdb-partitionkey": json.dumps([self.pk]), "if-match": self._etag}
        body = {"id": self.name, "pk": self.pk, "u": self.name, "by": number}
        return client.request("PUT", "docs", link, f"/{link}", body, headers)

    def look(self, client, session):
        found = document(client, self.name, self.pk, session)
        is_old = found is None or found["_etag"] == self._etag
        return f"{self.name} is as it was" if is_old else None


class Unique(Race):
    """All create a document of their own with the same value of a unique key."""

    done, refused = 201, 409

    def ask(self, client, number):
        return self.post(client, f"{self.name}-{number}", {"u": f"shared-{self.name}"})

    def look(self, client, session):
        names = [f"{self.name}-{number}" for number in range(CLIENTS)]
        found = sum(document(client, name, self.pk, session) is not None for name in names)
        return None if found == 1 else f"of {self.name} {found} documents are there"


class Races:
    """All teams against one life of the server."""

    def __init__(self, ledger, port, seed):
        self._ledger, self._port = ledger, port
        self._threads = []
        for team in range(TEAMS):
            barrier = threading.Barrier(CLIENTS)
            steps = self._steps(f"{seed}-{team}")
            current = {}
            for number in range(CLIENTS):
                arguments = (number, barrier, steps, current)
                self._threads.append(threading.Thread(target=self._run, args=arguments))
        for thread in self._threads:
            thread.start()

    def finish(self):
        for thread in self._threads:
            thread.join()

    def _steps(self, seed):
        """The steps of a team: now and then under a key that other teams write to, too."""
        rng = random.Random(seed)
        for number in itertools.count():
            name, pk = f"{seed}-{number}", rng.choice(("shared", seed))
            if rng.random() < 0.25:
                yield Unique(name, pk)
                continue
            race = Create(name, pk)
            yield race
            if rng.random() < 0.5:
                race = Replace(name, pk, race)
                yield race
            yield Delete(name, pk, race)

    def _run(self, number, barrier, steps, current):
        client = Client(self._port)
        try:
            while not self._ledger.problems:
                if barrier.wait() == 0:
                    race = current["race"] = next(steps)
                    self._ledger.promise(race)
                    if race.before:
                        race.before.is_over = True
                barrier.wait()
                current["race"].run(self._ledger, client, number)
        except DISCONNECTED:
            pass   # the server was killed
        except threading.BrokenBarrierError:
            pass   # another client has found out first
        except AssertionError as error:
            self._ledger.problem(str(error))
        finally:
            barrier.abort()
            client.close()
