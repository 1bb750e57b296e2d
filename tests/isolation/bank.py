"""What there is: some accounts under each key, whose sum never changes. The same in client.mjs.

Every transfer leaves a journal document in its own transaction, under an id that its client made up.
So a client that got no answer can send the same transfer again: if it was done, the id is taken.
"""

DATABASE, COLLECTION = "isolation", "bank"
PATH = f"/dbs/{DATABASE}/colls/{COLLECTION}"
KEYS = [f"branch{n}" for n in range(16)]
ACCOUNTS = [f"account{n}" for n in range(5)]
BALANCE = 100
TOTAL = BALANCE * len(ACCOUNTS)
AMOUNT_MAX = 60  # so that some transfers are declined


def accounts():
    """All of them, as they are in the beginning."""
    return [
        {"id": id, "pk": pk, "kind": "account", "balance": BALANCE, "moves": 0} for pk in KEYS for id in ACCOUNTS
    ]


def wrong(rows):
    """What is wrong with the accounts of a key as somebody saw them; None if nothing is."""
    if sorted(row["id"] for row in rows) != ACCOUNTS:
        return f"these accounts: {[row['id'] for row in rows]}"
    balances, moves = [row["balance"] for row in rows], [row["moves"] for row in rows]
    if sum(balances) != TOTAL or min(balances) < 0 or sum(moves) % 2:
        return f"balances {balances} (sum {sum(balances)}), moves {moves} (sum {sum(moves)})"
    return None
