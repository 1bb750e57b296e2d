"""The clients as child processes."""

import sys
from pathlib import Path

from client_process import Client

HERE = Path(__file__).parent
PYTHON = [sys.executable, str(HERE / "client.py")]
JAVASCRIPT = ["node", str(HERE / "client.mjs")]


def start(endpoint, seed, ledger, log):
    """A writer and a reader of each SDK, and one that goes range by range."""
    kinds = [(PYTHON, "write", "python-writer"), (PYTHON, "query", "python-reader"),
             (PYTHON, "ranges", "python-ranges"),
             (JAVASCRIPT, "write", "javascript-writer"), (JAVASCRIPT, "query", "javascript-reader")]
    clients = [Client(command, role, name, endpoint, seed, ledger, log) for command, role, name in kinds]
    for client in clients:
        client.is_ready.wait()
    return clients
