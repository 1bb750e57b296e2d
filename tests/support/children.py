"""The worker processes of a server, and what they and it take."""

from pathlib import Path


def script_workers(server):
    """Process ids of the script workers of a server."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # The name in parentheses may hold anything; then come the state and the parent.
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == server and b"script-worker" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except (OSError, IndexError, ValueError):
            pass  # it ended meanwhile
    return found


def resident_mb(process):
    """Megabytes of memory that a process holds; 0 if there is none any more."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0)
