"""Power loss while the store begins a new journal, and a journal that is taken away after it."""

from process import Server, verify
from shadow import LOSSES

SEALED_BYTES = 60 << 20   # a journal of this size is followed by another one soon
FILL_TIMEOUT_S = 60
SYNCS = 60                # the new journal, its name and the list of journals are among so many


def lose_power_among_journals(rig):
    """Load until a journal is almost full, power loss about when the next one begins; then one of the
    journals that the store needs is missing, which it must notice, and back again."""
    rig.start_and_wait()
    load = rig.load(large_share=0.9)
    store = rig.disk.data / "store"
    if not rig.wait_until(lambda: newest_bytes(store) >= SEALED_BYTES, FILL_TIMEOUT_S):
        rig.ledger.problem("no journal filled up: the load was too small for the test")
    rig.control["freeze_at"] = rig.control["all_syncs"] + rig.rng.randint(1, SYNCS)
    rig.wait_until(lambda: rig.control["frozen"], 3)
    rig.kill()
    load.finish()
    rig.disk.lose_power(rig.rng.choice(list(LOSSES)), rig.rng)
    take_away(rig, store)
    rig.check()


def newest_bytes(store):
    """The bytes that the newest journal takes on the disk; it is as long as it may become from the start."""
    newest = max(store.glob("*.jnl"), key=lambda path: int(path.stem))
    return newest.stat().st_blocks * 512


def take_away(rig, store):
    """Without one of its journals the server does not start, and neither it nor `verify` makes another."""
    listed = [line.split()[0] for line in (store / "journals.list").read_text().splitlines()[1:-1]]
    missing = store / f"{rig.rng.choice(listed)}.jnl"
    aside = rig.scratch / missing.name
    missing.rename(aside)
    expected = f"{missing.name}` is missing"
    said = verify(rig.binary, rig.disk.data, rig.log)
    if said is None or expected not in said:
        rig.ledger.problem(f"verify without {missing.name}: {said}")
    try:
        Server(rig.binary, rig.disk.data, rig.log).wait_ready().kill()
        rig.ledger.problem(f"the server starts without {missing.name}")
    except RuntimeError:
        if rig.log.read_text(errors="replace").count(expected) < 2:
            rig.ledger.problem(f"the server does not say that {missing.name} is missing")
    if missing.exists():
        rig.ledger.problem(f"something made another {missing.name}")
    aside.rename(missing)
