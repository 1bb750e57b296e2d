"""At the end: are the journal and the accounts what the clients were told?"""

from collections import Counter

from bank import ACCOUNTS, BALANCE, KEYS, PATH, wrong
from http_client import Client, pk

QUERY = {"Content-Type": "application/query+json", "x-ms-documentdb-isquery": "true"}


def check_all(ledger, port):
    client = Client(port)
    entries = {}
    for key in KEYS:
        documents = list(pages(client, key))
        accounts = [each for each in documents if each["kind"] == "account"]
        journal = [each for each in documents if each["kind"] == "journal"]
        if problem := wrong(accounts):
            ledger.problem(f"{key}: {problem}")
        balances = Counter(dict.fromkeys(ACCOUNTS, BALANCE))
        moves = Counter(dict.fromkeys(ACCOUNTS, 0))
        for entry in journal:
            if entry["id"] in entries:
                ledger.problem(f"{entry['id']} is there twice")
            entries[entry["id"]] = entry
            balances.update({entry["to"]: entry["amount"]})
            balances.subtract({entry["from"]: entry["amount"]})
            moves.update([entry["from"], entry["to"]])
        for account in accounts:
            id, found = account["id"], (account["balance"], account["moves"])
            if found != (balances[id], moves[id]):
                ledger.problem(f"{key} {id} has {found}, the journal says {(balances[id], moves[id])}")
        check_counts(ledger, client, key, len(journal))
    client.close()
    check_journal(ledger, entries)
    return len(entries)


def check_counts(ledger, client, key, journal):
    """The index says the same as the documents."""
    query = {"query": "SELECT VALUE COUNT(1) FROM c WHERE c.kind = 'journal'", "parameters": []}
    counted = client.post(f"{PATH}/docs", query, QUERY | pk(key)).json["Documents"]
    if counted != [journal]:
        ledger.problem(f"{key}: {journal} in the journal, the index says {counted}")


def check_journal(ledger, entries):
    unexplained = dict(entries)
    for id, report in ledger.reports.items():
        is_there, outcome = unexplained.pop(id, None) is not None, report["outcome"]
        if outcome in ("done", "exists"):
            if not is_there:
                ledger.problem(f"{id}: acknowledged ({outcome}) and lost")
        elif is_there and outcome != "unknown" and not ledger.may_be_done(report):
            ledger.problem(f"{id}: {outcome}, and in the journal all the same")
    if unexplained:
        ledger.problem(f"never sent: {list(unexplained)[:9]}")


def pages(client, key):
    """All documents of a key."""
    token = None
    query = {"query": "SELECT * FROM c", "parameters": []}
    while True:
        headers = {"x-ms-max-item-count": "1000", "x-ms-continuation": token}
        answer = client.post(f"{PATH}/docs", query, QUERY | pk(key) | headers)
        if answer.status != 200:
            raise RuntimeError(f"{key}: {answer}")
        yield from (each for each in answer.json["Documents"] if each["kind"] != "filler")
        if (token := answer.continuation) is None:
            return
