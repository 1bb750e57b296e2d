"""What goes wrong in a trial, and when its server was killed, which excuses some of it."""

import threading

CONNECTION_ERRORS_S = 10  # after a server is ready again


class Findings:
    """Takes the reports of clients: of the kind `x`, by a method `_x` of a ledger."""

    def __init__(self):
        self.problems = []
        self.lives = []  # (killed, ready again), in seconds of the clock on the wall
        self._lock = threading.Lock()

    def problem(self, text):
        with self._lock:
            self.problems.append(text)
        if len(self.problems) <= 20:
            print(f"PROBLEM {text}", flush=True)

    def take(self, client, report):
        getattr(self, f"_{report['kind']}")(client, report)

    def _ready(self, client, report):
        pass

    _end = _ready

    def met_kill(self, report):
        """Connections may break from a kill until a while after the server is ready again."""
        return any(report["started"] <= ready + CONNECTION_ERRORS_S and killed <= report["ended"]
                   for killed, ready in self.lives)
