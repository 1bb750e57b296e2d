"""Installs the package, uses it, and removes it again."""

import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

from azure.cosmos import CosmosClient, PartitionKey
from server import PUBLISHED_KEY, REPOSITORY, binary

UNIT = Path("/usr/lib/systemd/system/sheaf.service")
CONFIGURATION = Path("/etc/sheaf/sheaf.toml")
DATA, BACKUPS = Path("/var/lib/sheaf"), Path("/var/lib/sheaf-backups")
# What only the tracing of the server adds, and what the loader of a program needs before filters count.
TRACED = {"execve", "exit", "exit_group"}


def say(*words):
    print("==", *words, flush=True)


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, **options
    )
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def as_sheaf(*command, **options):
    return run("runuser", "-u", "sheaf", "--", *command, cwd="/", **options)


def setting(name):
    """What the unit says."""
    found = re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)
    assert len(found) == 1, f"{name}: {found}"
    return found[0]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Service:
    """The server as systemd would start it: ExecStart as User, with the unit's limits, on a port of this run."""

    def __init__(self, trace=None):
        self.port = free_port()
        limit = setting("LimitNOFILE")
        # The limit of this machine may be lower than that of the unit, and may not be raised in a container.
        words = f'ulimit -n {limit} 2>/dev/null || true; umask {setting("UMask")}; exec "$@"'
        command = ["bash", "-c", words, "-", *shlex.split(setting("ExecStart"))]
        if trace:
            command[4:4] = ["strace", "-f", "-qq", "-c", "-o", str(trace)]
        settings = {name: value for name, value in os.environ.items() if name[:6] != "SHEAF_"}
        self.process = subprocess.Popen(
            ["setpriv", f"--reuid={setting('User')}", f"--regid={setting('Group')}", "--init-groups", *command],
            stdout=subprocess.PIPE, text=True, cwd="/", env={**settings, "SHEAF_PORT": str(self.port)},
            start_new_session=True,
        )  # fmt: skip
        self.endpoint = f"http://127.0.0.1:{self.port}"
        line = self.process.stdout.readline()
        assert line.startswith("ready endpoint="), line
        self.traced = trace is not None

    def client(self):
        return CosmosClient(self.endpoint, PUBLISHED_KEY)

    def stop(self):
        """Stops it as systemd does: SIGTERM to the main process."""
        found = self.process.pid
        if self.traced:
            found = int(run("pgrep", "-P", found).split()[0])
        os.kill(found, signal.SIGTERM)
        code = self.process.wait()
        self.process.stdout.close()
        assert code == 0, f"it ended with {code}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            # All of them: what strace traces goes on without it.
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def build(folder):
    say("build")
    command = [REPOSITORY / "packaging" / "debian" / "build", "--binary", binary(), "--output", folder]
    return Path(run(*command).strip())


def install(package):
    say("install", package.name)
    run("dpkg", "--install", package)
    assert run("sheaf", "--version").startswith("sheaf ")
    for path in (DATA, BACKUPS):
        found = path.stat()
        assert stat.S_IMODE(found.st_mode) == 0o700 and path.owner() == "sheaf", path
    assert CONFIGURATION.owner() == "root"
    shell = run("getent", "passwd", "sheaf").strip().rpartition(":")[2]
    assert shell.endswith("nologin") or shell.endswith("false"), shell


def check_unit():
    if shutil.which("systemd-analyze") is None:
        print("the unit is not checked: no systemd-analyze")
        return
    say("systemd-analyze verify")
    done = subprocess.run(["systemd-analyze", "verify", str(UNIT)], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "sheaf" in line]
    assert not ours, "\n".join(ours)


def use(service):
    """Documents and a stored procedure, whose worker is a process of its own; then the command line."""
    say("use")
    database = service.client().create_database_if_not_exists("shop")
    orders = database.create_container_if_not_exists("orders", PartitionKey("/customer"))
    orders.upsert_item({"id": "1", "customer": "ada", "total": 12.5})
    body = "function hello(name) { getContext().getResponse().setBody('Hello, ' + name); }"
    if not list(orders.scripts.list_stored_procedures()):
        orders.scripts.create_stored_procedure({"id": "hello", "body": body})
    assert orders.scripts.execute_stored_procedure("hello", "ada", ["Ada"]) == "Hello, Ada"
    query = ["sheaf", "query", "--endpoint", service.endpoint, "-d", "shop", "-c", "orders", "--format", "lines"]
    assert run(*query, "SELECT VALUE c.total FROM c", cwd="/").strip() == "12.5"
    as_sheaf("sheaf", "backup", "create", BACKUPS, "--endpoint", service.endpoint)


def administer(service, folder):
    """What docs/installing.md says of the keys, backups and certificate of the service."""
    say("administer")
    as_sheaf("sheaf", "keys", "regenerate", "all", "--data-dir", DATA)
    # The command returns when the running server knows the new keys.
    as_sheaf("sheaf", "backup", "create", BACKUPS, "--data-dir", DATA, "--endpoint", service.endpoint)
    certificate = folder / "sheaf.pem"
    run("sheaf", "cert", "--data-dir", DATA, "--output", certificate)
    assert certificate.read_text().startswith("-----BEGIN CERTIFICATE-----")


def check_files():
    for path in DATA.rglob("*"):
        assert path.owner() == "sheaf", path
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 or path.name == "cert.pem", path


def allowed(group):
    """The system calls of a group that systemd knows."""
    found = set()
    for word in run("systemd-analyze", "syscall-filter", group).split():
        if word.startswith("@") and word != group:
            found |= allowed(word)
        elif re.fullmatch(r"\w+", word):
            found.add(word)
    return found


def check_system_calls(folder):
    """The filter of the unit must allow what the server and its workers call."""
    for tool in ("strace", "systemd-analyze", "pgrep"):
        if shutil.which(tool) is None:
            print(f"the filter of system calls is not checked: no {tool}")
            return
    probe = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        print("the filter of system calls is not checked: strace may not trace here")
        return
    say("system calls")
    folder.chmod(0o777)
    trace = folder / "calls"
    with Service(trace) as service:
        use(service)
        service.stop()
    called = {line.split()[-1] for line in trace.read_text().splitlines() if re.match(r"\s+[\d.]+\s", line)} - {"total"}
    assert "fdatasync" in called and "execve" in called, sorted(called)
    filtered = setting("SystemCallFilter").split()
    refused = called - set().union(*map(allowed, filtered)) - TRACED
    assert not refused, f"the unit refuses {sorted(refused)}"


def remove():
    say("remove")
    run("dpkg", "--remove", "sheaf")
    assert not Path("/usr/bin/sheaf").exists() and not UNIT.exists()
    assert CONFIGURATION.exists() and (DATA / "store").is_dir(), "data and configuration stay"


def purge():
    say("purge")
    run("dpkg", "--purge", "sheaf")
    assert not DATA.exists() and not CONFIGURATION.exists()
    assert BACKUPS.is_dir(), "backups stay"


def leave_nothing():
    """Whatever the test came to, the machine is as before: none of this was there."""
    subprocess.run(["dpkg", "--purge", "--force-all", "sheaf"], capture_output=True, check=False)
    for path in (DATA, BACKUPS, CONFIGURATION.parent):
        shutil.rmtree(path, ignore_errors=True)
    subprocess.run(["deluser", "--system", "--quiet", "sheaf"], capture_output=True, check=False)


def main():
    with tempfile.TemporaryDirectory(prefix="sheaf-package-") as name:
        folder = Path(name)
        try:
            package = build(folder)
            install(package)
            check_unit()
            with Service() as service:
                use(service)
                service.stop()
            check_files()
            check_system_calls(folder)
            remove()
            install(package)
            with Service() as service:
                item = service.client().get_database_client("shop").get_container_client("orders").read_item("1", "ada")
                assert item["total"] == 12.5, "data survives a removal"
                administer(service, folder)
                service.stop()
            purge()
        finally:
            leave_nothing()
    left = [path for path in (DATA, BACKUPS, CONFIGURATION.parent, UNIT, Path("/usr/share/doc/sheaf")) if path.exists()]
    assert not left, left
    assert subprocess.run(["getent", "passwd", "sheaf"], capture_output=True, check=False).returncode != 0
    say("the package works")


if __name__ == "__main__":
    main()
