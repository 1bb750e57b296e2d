"""The lives of a server that is killed and started again."""

import socket
import threading


class Life:
    """Which life of the server it is, for those who wait for the next."""

    def __init__(self):
        self._generation, self._is_up = 0, True
        self._changed = threading.Condition()

    def wait_until_up(self):
        with self._changed:
            self._changed.wait_for(lambda: self._is_up)
            return self._generation

    def is_same(self, generation):
        with self._changed:
            return self._is_up and self._generation == generation

    def end(self):
        with self._changed:
            self._is_up = False
            self._generation += 1

    def begin(self):
        with self._changed:
            self._is_up = True
            self._changed.notify_all()


def free_port():
    """A port that a server can have again and again: clients know only one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
