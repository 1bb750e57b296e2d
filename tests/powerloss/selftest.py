"""Proves the shim on small programs before it is trusted with a database.

Each case is a few lines of Python that run on the disk, and the tree that must survive. Bytes and
names count only as of the sync that covers them, whatever happened afterwards.
"""

import os
import random
import subprocess
import sys

PRELUDE = """
import os
def put(name, data, sync=True, flags=os.O_CREAT | os.O_WRONLY):
    fd = os.open(name, flags)
    os.write(fd, data)
    if sync: os.fsync(fd)
    return fd
def sync_dir(name='.'):
    fd = os.open(name, os.O_RDONLY); os.fsync(fd); os.close(fd)
def attempt(call, *arguments):
    try: return call(*arguments)
    except OSError as error: return error.errno
"""

# name, program, what survives (a directory is None), faults to set
CASES = [
    ("a synced file in a synced directory survives", "put('a', b'1'); sync_dir()", {"a": b"1"}, {}),
    ("without a sync of its directory the name is lost", "put('a', b'1')", {}, {}),
    ("a name without synced bytes is an empty file", "put('a', b'1', sync=False); sync_dir()", {"a": b""}, {}),
    ("bytes after the last sync are lost", "fd = put('a', b'12'); sync_dir(); os.write(fd, b'34')", {"a": b"12"}, {}),
    ("fdatasync counts too", "fd = put('a', b'1', False); os.fdatasync(fd); sync_dir()", {"a": b"1"}, {}),
    ("an overwrite is lost as well", "fd = put('a', b'old'); sync_dir(); os.pwrite(fd, b'new', 0)", {"a": b"old"}, {}),
    ("a synced overwrite is kept", "fd = put('a', b'old'); sync_dir(); os.pwrite(fd, b'n', 0); os.fsync(fd)", {"a": b"nld"}, {}),
    ("writev is seen", "fd = put('a', b'1'); sync_dir(); os.writev(fd, [b'2', b'3']); os.fsync(fd)", {"a": b"123"}, {}),
    ("truncation needs a sync", "fd = put('a', b'123'); sync_dir(); os.ftruncate(fd, 1)", {"a": b"123"}, {}),
    ("synced truncation", "fd = put('a', b'123'); sync_dir(); os.ftruncate(fd, 1); os.fsync(fd)", {"a": b"1"}, {}),
    ("opening with O_TRUNC needs a sync", "put('a', b'123'); sync_dir(); os.open('a', os.O_TRUNC | os.O_WRONLY)", {"a": b"123"}, {}),
    ("a hole reads as zeros", "fd = put('a', b'1'); os.ftruncate(fd, 0); os.ftruncate(fd, 2); os.fsync(fd); sync_dir()", {"a": b"\0\0"}, {}),
    ("an unsynced rename is undone", "put('a', b'1'); sync_dir(); os.rename('a', 'b')", {"a": b"1"}, {}),
    ("a synced rename is kept", "put('a', b'1'); os.rename('a', 'b'); sync_dir()", {"b": b"1"}, {}),
    ("a renamed file keeps its own synced bytes", "put('a', b'1'); put('t', b'2'); sync_dir(); os.rename('t', 'a')", {"a": b"1", "t": b"2"}, {}),
    ("an unsynced removal is undone", "put('a', b'1'); sync_dir(); os.unlink('a')", {"a": b"1"}, {}),
    ("a recreated file is a new file", "put('a', b'1'); sync_dir(); os.unlink('a'); put('a', b'2')", {"a": b"1"}, {}),
    ("a directory needs its parent synced", "os.mkdir('d'); put('d/a', b'1'); sync_dir('d')", {}, {}),
    ("and itself", "os.mkdir('d'); put('d/a', b'1'); sync_dir()", {"d": None}, {}),
    ("both", "os.mkdir('d'); put('d/a', b'1'); sync_dir('d'); sync_dir()", {"d": None, "d/a": b"1"}, {}),
    ("a raw rename is seen at the next directory sync",
     "import ctypes; put('a', b'1'); ctypes.CDLL(None).syscall(316, -100, b'a', -100, b'b', 0); sync_dir()", {"b": b"1"}, {}),
    ("a failed sync loses its bytes for good",
     "fd = put('a', b'1'); sync_dir(); os.write(fd, b'2'); assert attempt(os.fsync, fd) == 5; os.write(fd, b'3'); os.fsync(fd)",
     {"a": b"1\0" + b"3"}, {"fail_sync_at": 3}),
    ("a full disk takes what fits", "fd = put('a', b'12345', False); assert attempt(os.write, fd, b'6') == 28; os.fsync(fd); sync_dir()",
     {"a": b"123"}, {"space_left": 3}),
    ("a full disk takes no new names", "put('a', b'123'); sync_dir(); assert attempt(os.mkdir, 'd') == 28", {"a": b"123"}, {"space_left": 3}),
]


def tree(directory):
    found = {}
    for path, directories, files in os.walk(directory):
        for name in directories:
            found[os.path.relpath(os.path.join(path, name), directory)] = None
        for name in files:
            full = os.path.join(path, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, directory)] = file.read()
    return found


def run(make_disk):
    """Runs every case on a fresh disk; returns the failures."""
    failures = []
    for name, program, expected, faults in CASES:
        disk = make_disk()
        # Bytes that a failed sync has lost are a difference that the audit would report.
        disk.control.reset(audit=int(not faults), **faults)
        disk.baseline()
        done = subprocess.run([sys.executable, "-c", PRELUDE + program], cwd=disk.root,
                              env=os.environ | disk.environment(), capture_output=True, text=True)
        disk.lose_power("plain", random.Random(1))
        survived = tree(disk.root)
        if done.returncode or survived != expected:
            failures.append(f"shim: {name}: expected {expected}, got {survived}\n{done.stderr}")
    return failures


if __name__ == "__main__":
    import itertools
    import tempfile

    from shadow import Disk, compile_shim

    with tempfile.TemporaryDirectory() as scratch:
        numbers = itertools.count()
        library = compile_shim(scratch)

        def fresh_disk():
            directory = os.path.join(scratch, str(next(numbers)))
            os.mkdir(directory)
            return Disk(directory, library)

        failures = run(fresh_disk)
    print("\n".join(failures))
    print(f"{len(CASES) - len(failures)} passed, {len(failures)} failed")
    sys.exit(bool(failures))
