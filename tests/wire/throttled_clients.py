"""Clients that send one request again and again, and wait as they are told when it is refused."""

import threading
import time
from email.utils import formatdate

from http_client import VERSION, Client, signature, signed_parts, token


class Sender(threading.Thread):
    """One client: `make(number)` gives the method, path, body and headers of its next request. One that
    `renews` sends another request with every try, as SDKs do that make a new id each time."""

    def __init__(self, port, make, begin, seconds, renews=False):
        super().__init__(daemon=True)
        self.client, self.make, self.renews = Client(port), make, renews
        self.begin, self.end = begin, begin + seconds
        self.served = []  # when, and how much
        self.first_retries = self.first_retries_served = self.refused = self.most_tries = 0
        self.problems = []

    def run(self):
        date, signatures = formatdate(usegmt=True), {}
        self.number = 0
        while time.monotonic() < self.end:
            method, path, body, headers = self.next()
            if (method, path) not in signatures:
                kind, link = signed_parts(path)
                sig = signature(self.client.key, method, kind, link, date)
                signatures = {(method, path): token(sig)}
            auth = {"x-ms-date": date, "x-ms-version": VERSION, "authorization": signatures[method, path]}
            self.until_served(method, path, body, headers | auth)
        self.client.close()

    def next(self):
        self.number += 1
        return self.make(self.number - 1)

    def until_served(self, method, path, body, headers):
        tries = 0
        while time.monotonic() < self.end:
            answer = self.client.send(method, path, body, headers)
            tries += 1
            self.most_tries = max(self.most_tries, tries)
            if tries == 2:
                self.first_retries += 1
                self.first_retries_served += answer.status != 429
            if answer.status != 429:
                if answer.status >= 400:
                    self.problems.append(answer)
                self.served.append((time.monotonic() - self.begin, answer.charge))
                return
            self.refused += 1
            wait_ms = int(answer.headers["x-ms-retry-after-ms"])
            if wait_ms < 1 or answer.charge != 0 or answer.substatus != 3200:
                self.problems.append(answer)
            time.sleep(wait_ms / 1000)
            if self.renews:
                _, _, body, _ = self.next()


class Run:
    """What sixteen clients got in `seconds`."""

    def __init__(self, port, make, seconds=11.5, clients=16, renewing=0):
        begin = time.monotonic()
        senders = [
            Sender(port, lambda number, own=own: make(own, number), begin, seconds, own < renewing)
            for own in range(clients)
        ]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(60)
            assert not sender.is_alive()
        self.problems = [problem for sender in senders for problem in sender.problems]
        self.served = sorted(pair for sender in senders for pair in sender.served)
        self.each = [sum(charge for _, charge in sender.served) for sender in senders]
        self.most_tries = max(sender.most_tries for sender in senders)
        self.refused = sum(sender.refused for sender in senders)
        first = sum(sender.first_retries for sender in senders)
        self.honesty = sum(sender.first_retries_served for sender in senders) / max(first, 1)

    def rate(self, begin=1, end=11):
        """Request units per second that were served in this part of the run."""
        return sum(charge for at, charge in self.served if begin <= at < end) / (end - begin)

    def __repr__(self):
        return (
            f"{self.rate():.0f} RU/s served, {len(self.served)} requests, {self.refused} refused, "
            f"{self.honesty:.1%} of first retries served"
        )
