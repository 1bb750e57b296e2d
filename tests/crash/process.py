"""The server as a child process: start, kill, stop, check the directory."""

import os
import signal
import subprocess
import threading
import time

READY_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60


class Server:
    """One life of the server on a data directory. Its log is appended to `log`."""

    def __init__(self, binary, data_dir, log, environment=None):
        self.port = None
        self._ready = threading.Event()
        self._log = open(log, "ab")
        self.spawned = time.monotonic()
        self._process = subprocess.Popen(
            [binary, "serve", "--port", "0", "--rate-limit", "never", "--data-dir", data_dir],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | (environment or {}),
        )
        threading.Thread(target=self._read_output, daemon=True).start()

    def _read_output(self):
        for line in self._process.stdout:
            self._log.write(line)
            self._log.flush()
            if line.startswith(b"ready endpoint="):
                self.port = int(line.rstrip().rstrip(b"/").rsplit(b":", 1)[1])
                self._ready.set()
        self._ready.set()  # the output ended: nobody should wait any longer

    @property
    def pid(self):
        return self._process.pid

    def wait_ready(self):
        """Waits for the ready line; raises when the server ends or takes too long."""
        self._ready.wait(READY_TIMEOUT_S)
        if self.port is None:
            self.kill()
            raise RuntimeError(f"the server did not start (exit code {self._process.returncode})")
        return self

    def is_running(self):
        return self._process.poll() is None

    def kill(self):
        """SIGKILL: the process gets no chance to do anything."""
        self._process.kill()
        self._process.wait()
        self._log.close()

    def stop(self):
        """SIGTERM; returns the exit code."""
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return "timeout"
        finally:
            self._log.close()


def verify(binary, data_dir, log):
    """Runs the server's own check of a directory; returns None or what it found."""
    done = subprocess.run([binary, "verify", data_dir], capture_output=True, text=True)
    with open(log, "a") as file:
        file.write(done.stdout + done.stderr)
    return None if done.returncode == 0 else f"verify exits {done.returncode}: {done.stdout}{done.stderr}"
