"""A trial: clients work while partitions split and merge and the server is killed and started again.

What the clients do, and what must be true of it, is a test's own: see `Trial`.
"""

import random
import shutil
import tempfile
import time
from pathlib import Path

from client_process import Client
from life import Life, free_port
from reshape import Reshaper
from server import Server, verify

TELL_S = 30


class Trial:
    """One data directory through many lives of the server."""

    def __init__(self, name, seed, collection, findings, flags=(), **reshaping):
        """`collection` is (database, collection): it is reshaped, once `set_up` has made it."""
        self.scratch = Path(tempfile.mkdtemp(prefix=f"sheaf-{name}-"))
        self.seed, self.rng = seed, random.Random(seed)
        self.ledger, self.life = findings, Life()
        self.kills = self.verified = 0
        self.clients = []
        self.server = Server("--rate-limit", "never", *flags, data_dir=self.scratch / "data",
                             log=self.scratch / "server.log", port=free_port())
        self.reshaper = Reshaper(self.server.port, self.server.endpoint, collection, seed, findings, self.life,
                                 **reshaping)

    def set_up(self):
        """Makes the collection, and starts whoever works on it."""
        raise NotImplementedError

    def is_over(self, seconds):
        """Whether it has gone on for long enough."""
        raise NotImplementedError

    def progress(self):
        """What a watcher is told from time to time."""
        return f"{self.reshaper.splits} splits, {self.reshaper.merges} merges, {self.kills} kills"

    def judge(self):
        """Looks at everything once more, when nobody works any longer and the server still runs."""
        raise NotImplementedError

    def start_clients(self, kinds):
        """Each as (command, role, name)."""
        log = self.scratch / "clients.log"
        self.clients = [Client(command, role, name, self.server.endpoint, self.seed, self.ledger, log)
                        for command, role, name in kinds]
        for client in self.clients:
            client.is_ready.wait()

    def run(self, between_kills_s, kills_max=None, keep_going=False):
        """From the beginning to the end; returns the seconds that it was disturbed for."""
        seconds = 0
        try:
            self.set_up()
            seconds = self._disturb(between_kills_s, kills_max, keep_going)
            self._finish()
        except Exception as error:  # a server that does not start again is the worst finding of all
            self.ledger.problem(f"{error!r}")
        finally:
            if self.server.process.poll() is None:
                self.server.kill()
        return seconds or 1

    def _disturb(self, between_kills_s, kills_max, keep_going):
        started = told = time.monotonic()
        next_kill = started + self.rng.uniform(*between_kills_s)
        self.reshaper.start()
        while keep_going or not self.ledger.problems:
            now = time.monotonic()
            if self.is_over(now - started):
                break
            if now >= next_kill and (kills_max is None or self.kills < kills_max):
                self.kill()
                next_kill = time.monotonic() + self.rng.uniform(*between_kills_s)
            if now - told > TELL_S:
                told = now
                print(f"{now - started:.0f} s: {self.progress()}", flush=True)
            time.sleep(0.05)
        return time.monotonic() - started

    def kill(self):
        """Kills the server and starts it again; every other time its data is verified in between."""
        if self.server.process.poll() is not None:
            self.ledger.problem(f"the server ended by itself: exit code {self.server.process.returncode}")
        killed = time.time()
        self.life.end()
        self.server.kill()
        self.kills += 1
        if self.kills % 2 == 0:
            self._verify()
        self.server.start()
        self.ledger.lives.append((killed, time.time()))
        self.life.begin()

    def _finish(self):
        """Lets everybody finish, and looks at everything once more."""
        self.reshaper.stop()
        for client in self.clients:
            client.stop()
        for client in self.clients:
            client.wait()
        self.judge()
        if (code := self.server.stop()) != 0:
            self.ledger.problem(f"after SIGTERM the server exits with {code}")
        self._verify()
        if "panicked at" in (self.scratch / "server.log").read_text():
            self.ledger.problem("the server panicked: see its log")

    def _verify(self):
        code, said = verify(self.scratch / "data")
        self.verified += 1
        if code != 0:
            self.ledger.problem(f"verify exits {code}: {said}")

    def verdict(self):
        """Says how it went, and keeps data and logs if it went wrong; returns an exit code."""
        problems = len(self.ledger.problems)
        if problems:
            print(f"{problems} problems; data and logs are in {self.scratch}")
        else:
            shutil.rmtree(self.scratch)
        print(f"{0 if problems else 1} passed, {1 if problems else 0} failed")
        return 1 if problems else 0
