"""What the clients reported, and whether all of it can be right."""

from collections import Counter

from findings import Findings

# What a transfer or a read may be refused with while workers are killed: the worker is lost, or under
# a heavy load the script's time is up or no worker was free for too long.
EXCUSED = (408, 429, 500)


class Ledger(Findings):
    """All reports of all clients."""

    def __init__(self):
        super().__init__()
        self.reports = {}          # id of a transfer -> how it ended: done, exists, declined, refused, stale, unknown
        self.stale = 0             # batches that came too late, and were made again
        self.counts = Counter()    # way and outcome -> how many
        self.reads = Counter()
        self.errors = []           # of reads
        self.doubtful = []         # transfers whose journal existed although they were sent once
        self.unclear = 0           # done by a try without an answer, and refused by the next
        self.refusals = Counter()  # status -> how many
        self.losses = []           # when a worker was killed
        self.transfers = 0

    def _transfer(self, client, report):
        id, outcome = report["id"], report["outcome"]
        with self._lock:
            self.reports[id] = report
            self.stale += report["stale"]
            self.counts[report["way"], outcome] += 1
            self.transfers += outcome in ("done", "exists")
        if outcome == "exists" and not report["unanswered"]:
            with self._lock:
                self.doubtful.append((client, report))  # judged when the lives are known

    def _read(self, client, report):
        with self._lock:
            self.reads[report["way"]] += 1
        if report["problem"]:
            self.problem(f"{client}: by {report['way']}: {report['problem']}")

    def _error(self, client, report):
        with self._lock:
            self.errors.append((client, report))  # judged when the lives are known

    def _met_loss(self, report):
        return any(report["started"] <= lost <= report["ended"] for lost in self.losses)

    def _was_under_way(self, report):
        """Whether the server was killed between question and answer: then an SDK may have asked twice."""
        return any(report["started"] <= killed <= report["ended"] for killed, _ in self.lives)

    def may_be_done(self, report):
        """Whether a transfer that ended with a refusal may have been done by a try before, of ours or
        of the SDK's, that got no answer."""
        is_free = report["unanswered"] > 0 or self._was_under_way(report)
        self.unclear += is_free
        return is_free

    def judge(self):
        """Errors have a reason, or they are problems."""
        for client, report in self.doubtful:
            if not self._was_under_way(report):
                self.problem(f"{client}: {report['id']} was sent once, and its journal exists already")
        refused = [(id, report) for id, report in self.reports.items() if report["outcome"] == "refused"]
        for client, report in self.errors + refused:
            if report.get("connection"):
                if not self.met_kill(report):
                    self.problem(f"{client}: no connection although nobody killed the server: {report['text']}")
                continue
            status = int(report.get("status") or report["text"].partition("/")[0])
            self.refusals[status] += 1
            is_loss = status == 500
            if status not in EXCUSED or (is_loss and not self._met_loss(report) and not self.met_kill(report)):
                self.problem(f"{client}: {report['text']}")
