"""Starts and stops the server under test."""

import os
import signal
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# The key that Microsoft publishes for its emulator: the only one without a key file.
PUBLISHED_KEY = (
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
)


def binary():
    """The server to test: $SHEAF_BIN, or else the newest one built."""
    if named := os.environ.get("SHEAF_BIN"):
        return Path(named).resolve()
    built = [REPOSITORY / "target" / kind / "sheaf" for kind in ("release", "debug")]
    built = [path for path in built if path.exists()]
    if not built:
        raise FileNotFoundError("no server: run `cargo build --release`, or set SHEAF_BIN")
    return max(built, key=lambda path: path.stat().st_mtime)


def environment():
    """The variables of this process, without those that configure a server."""
    ours = ("SHEAF_", "AZURE_COSMOS_EMULATOR_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


class Server:
    """One server process, on a free port of this machine unless a port is given.

    Without a data directory it keeps everything in memory. Its log goes to `log` (a path) or
    else to this process's standard error, where pytest shows it next to a failed test.
    """

    def __init__(self, *flags, data_dir=None, log=None, port=0):
        storage = ["--in-memory"] if data_dir is None else ["--data-dir", str(data_dir)]
        self.command = [str(binary()), "serve", "--port", str(port), *storage, *map(str, flags)]
        self.log = log
        self.start()

    def start(self):
        """Starts the process, on a new port if none was given, and waits until it accepts requests."""
        settings = environment()
        errors = open(self.log, "ab") if self.log else None
        try:
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.PIPE, stderr=errors, text=True, env=settings
            )
        finally:
            if errors:
                errors.close()
        line = self.process.stdout.readline().strip()
        prefix = "ready endpoint="
        if not line.startswith(prefix):
            self.process.kill()
            raise RuntimeError(f"the server did not start (exit {self.process.wait()}): {line!r}")
        self.endpoint = line.removeprefix(prefix)
        self.port = int(self.endpoint.rstrip("/").rpartition(":")[2])

    def stop(self):
        """Stops the server in good order; returns its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self):
        """Ends the server as a crash would."""
        return self._end(signal.SIGKILL)

    def _end(self, with_signal):
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        code = self.process.wait()
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.stop()


def verify(data_dir):
    """Runs `sheaf verify` on the directory of a stopped server: exit code and what it said."""
    done = subprocess.run(
        [str(binary()), "verify", str(data_dir)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr
