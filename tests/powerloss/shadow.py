"""The runner's side of shim.c: prepares the shadow, sets faults, and lets the power fail.

A `Disk` owns a directory and its shadow. The data directory is two levels below, and absent until
the server makes it: its own name has to survive as well. Around each run of the server:

    disk.baseline()              # all that is on the disk counts as durable
    ... run the server with disk.environment(), then SIGKILL it ...
    disk.lose_power(mode, rng)   # the disk now holds what a power loss would have left
"""

import itertools
import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path

ATTRIBUTE = "user.powerloss"
PAGE = 4096

# What may be left of bytes that were written and not synced. POSIX promises nothing about them, so
# recovery has to cope with every one of these.
LOSSES = {
    "plain": "nothing that was not synced survives",
    "prefix": "a random part of the unsynced end of each journal survives",
    "garbage": "the same, with random bytes behind it",
    "pages": "each unsynced page of a journal survives or not, in any order",
    "names": "some directories keep their latest names, with file contents only as synced",
}


class Control:
    """The page shared with the shim; the fields are those of `struct control`, in its order."""

    FIELDS = ("syncs", "fail_sync_at", "only_journals", "space_left", "faults", "delay_us", "audit",
              "first_fault_ns", "freeze_at", "frozen", "all_syncs")

    def __init__(self, path):
        path.write_bytes(bytes(PAGE))
        with open(path, "r+b") as file:
            self._page = mmap.mmap(file.fileno(), PAGE)

    def __getitem__(self, field):
        return struct.unpack_from("<q", self._page, 8 * self.FIELDS.index(field))[0]

    def __setitem__(self, field, value):
        struct.pack_into("<q", self._page, 8 * self.FIELDS.index(field), value)

    def reset(self, **values):
        """No faults, endless space, counters at zero; then `values`."""
        for field in self.FIELDS:
            self[field] = -1 if field == "space_left" else 0
        for field, value in values.items():
            self[field] = value


def compile_shim(target_dir):
    """Builds the library next to the test's scratch files and returns its path."""
    source = Path(__file__).with_name("shim.c")
    library = Path(target_dir) / "powerloss-shim.so"
    subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-Wno-format-truncation", "-shared", "-fPIC",
         "-o", library, source, "-ldl", "-lpthread"],
        check=True,
    )
    return library


class Disk:
    """A place for a data directory that can lose power."""

    def __init__(self, scratch, library):
        scratch = Path(scratch)
        self.root = scratch / "disk"
        self.data = self.root / "sheaf" / "data"
        self.shadow = scratch / "shadow"
        self.lost = scratch / "before-power-loss"
        self.library = library
        self.root.mkdir(exist_ok=True)
        self.shadow.mkdir(exist_ok=True)
        self.control = Control(self.shadow / "control")
        self.control.reset()
        self._ids = itertools.count()

    def environment(self):
        """The variables that put a program on this disk."""
        return {
            "LD_PRELOAD": str(self.library),
            "POWERLOSS_ROOT": str(self.root),
            "POWERLOSS_SHADOW": str(self.shadow),
        }

    def baseline(self):
        """Declares everything on the disk durable."""
        for kind in ("files", "dirs"):
            shutil.rmtree(self.shadow / kind, ignore_errors=True)
            (self.shadow / kind).mkdir()
        self._baseline(self.root)

    def _baseline(self, directory):
        listing = []
        for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
            id = self._mark(entry.path)
            if entry.is_dir():
                self._baseline(entry.path)
            else:
                copy_sparse(entry.path, self.shadow / "files" / id)
            listing.append(f"{'d' if entry.is_dir() else 'f'} {id} {entry.name}\n")
        (self.shadow / "dirs" / self._mark(directory)).write_text("".join(listing))

    def _mark(self, path):
        """The id of a file or directory, given to it if it has none."""
        id = identity(path)
        if id is None:
            id = f"r{next(self._ids)}-{os.urandom(6).hex()}"
            os.setxattr(path, ATTRIBUTE, id.encode())
        return id

    def lose_power(self, loss, rng):
        """Replaces the disk's content by what survives. The one before stays in `self.lost`, for
        looking into a failure, until the next loss."""
        latest = {id: path for path, id in walk(self.root)}
        root = identity(self.root)
        shutil.rmtree(self.lost, ignore_errors=True)
        survivors = self.root.with_name("survivors")
        shutil.rmtree(survivors, ignore_errors=True)
        self._restore(root, survivors, latest, loss, rng)
        self.root.rename(self.lost)
        survivors.rename(self.root)

    def _restore(self, id, target, latest, loss, rng):
        target.mkdir()
        for kind, child, name in self._names(id, latest, loss, rng):
            if kind == "d":
                self._restore(child, target / name, latest, loss, rng)
                continue
            durable = self.shadow / "files" / child
            if durable.exists():
                copy_sparse(durable, target / name)
            else:
                (target / name).touch()
            if name.endswith(".jnl") and child in latest and loss in ("prefix", "garbage", "pages"):
                tear(latest[child], target / name, loss, rng)

    def _names(self, id, latest, loss, rng):
        """The entries of a directory: kind, id, name."""
        if loss == "names" and id in latest and rng.random() < 0.5:
            for entry in os.scandir(latest[id]):
                child = identity(entry.path)
                # A file without an id was never synced, nor was its directory: a name for no bytes.
                yield ("d" if entry.is_dir() else "f"), child or "never-synced", entry.name
            return
        listing = self.shadow / "dirs" / id
        if listing.exists():
            for line in listing.read_text().splitlines():
                yield line.split(" ", 2)


def identity(path):
    """The id that a file carries, or None."""
    try:
        return os.getxattr(path, ATTRIBUTE).decode()
    except OSError:
        return None


def walk(directory):
    """All marked files and directories below and including `directory`, with their ids."""
    for path, _, names in os.walk(directory):
        for candidate in [path] + [os.path.join(path, name) for name in names]:
            id = identity(candidate)
            if id:
                yield candidate, id


def copy_sparse(source, target):
    """Copies a file and keeps its holes; journals are preallocated far beyond their content."""
    with open(source, "rb") as reader, open(target, "wb") as writer:
        for start, end in data_ranges(reader.fileno()):
            reader.seek(start)
            writer.seek(start)
            writer.write(reader.read(end - start))
        writer.truncate(os.fstat(reader.fileno()).st_size)


def data_ranges(fd):
    """The parts of a file that are not holes."""
    size = os.fstat(fd).st_size
    end = 0
    while end < size:
        try:
            start = os.lseek(fd, end, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(fd, start, os.SEEK_HOLE)
        yield start, end


def tear(latest, survivor, loss, rng):
    """Lets some of a journal's unsynced bytes survive too."""
    with open(latest, "rb") as reader, open(survivor, "r+b") as writer:
        start, end = unsynced_range(reader, writer)
        if start == end:
            return
        if loss == "pages":
            # Often only one page is missing: the holes that a careless reader does not notice.
            pages = range(start // PAGE * PAGE, end, PAGE)
            missing = rng.choice(pages)
            misses_one = rng.random() < 0.5
            for page in pages:
                if page != missing if misses_one else rng.random() < 0.5:
                    copy_range(reader, writer, max(page, start), min(page + PAGE, end))
            return
        cut = rng.randint(start, end)
        copy_range(reader, writer, start, cut)
        if loss == "garbage":
            writer.seek(cut)
            writer.write(rng.randbytes(rng.randint(1, 2 * PAGE)))


def unsynced_range(reader, writer):
    """Where the latest file differs from what was synced: from the first to behind the last byte."""
    ranges = sorted([*data_ranges(reader.fileno()), *data_ranges(writer.fileno())])
    differing = []
    for start, end in ranges:
        for at in range(start, end, 1 << 16):
            length = min(1 << 16, end - at)
            reader.seek(at)
            writer.seek(at)
            new = reader.read(length)
            # A journal that was cut and not synced is shorter than what survives: the cut is lost.
            old = writer.read(length)[: len(new)].ljust(len(new), b"\0")
            if new != old:
                differing += [at + first_difference(new, old), at + last_difference(new, old) + 1]
    return (min(differing), max(differing)) if differing else (0, 0)


def first_difference(a, b):
    return next(i for i in range(len(a)) if a[i] != b[i])


def last_difference(a, b):
    return next(i for i in reversed(range(min(len(a), len(b)))) if a[i] != b[i])


def copy_range(reader, writer, start, end):
    reader.seek(start)
    writer.seek(start)
    writer.write(reader.read(end - start))
