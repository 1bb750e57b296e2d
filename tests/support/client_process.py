"""A client as a child process, which reports in lines of JSON and stops when its input ends."""

import json
import signal
import subprocess
import threading

STOP_TIMEOUT_S = 90
ABORT_TIMEOUT_S = 10


class Client:
    """One process; its reports go to the ledger."""

    def __init__(self, command, role, name, endpoint, seed, ledger, log):
        self.name, self.role, self.ledger = name, role, ledger
        self.is_ready, self.has_ended = threading.Event(), False
        self._log = open(log, "ab")
        self._process = subprocess.Popen(
            [*command, role, endpoint, name, str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            try:
                report = json.loads(line)
                self.ledger.take(self.name, report)
            except Exception as error:
                self.ledger.problem(f"{self.name}: {error!r} in {line[:300]}")
                continue
            self.is_ready.set()
            self.has_ended |= report["kind"] == "end"
        if not self.has_ended:
            self.ledger.problem(f"{self.name}: ended before its time, exit code {self._process.wait()}")
        self.is_ready.set()

    def stop(self):
        """Lets the client finish what it is doing."""
        self._process.stdin.close()

    def wait(self):
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.ledger.problem(f"{self.name}: hangs")
            self._process.send_signal(signal.SIGABRT)  # Python then writes into the log where each thread is
            try:
                self._process.wait(ABORT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._thread.join()
        self._log.close()
