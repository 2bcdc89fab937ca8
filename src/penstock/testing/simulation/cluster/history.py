"""All that clients were told and nodes did over a whole run, in the hands of the checkers."""

from penstock.testing.simulation.cluster.checkers.commits import CommitChecker
from penstock.testing.simulation.cluster.checkers.groups import GroupChecker
from penstock.testing.simulation.cluster.checkers.metadata import MetadataChecker
from penstock.testing.simulation.cluster.checkers.records import RecordChecker
from penstock.testing.simulation.cluster.checkers.replicas import ReplicaChecker
from penstock.testing.simulation.cluster.checkers.shares import ShareChecker
from penstock.testing.simulation.cluster.checkers.transactions import TransactionChecker
from penstock.testing.simulation.cluster.checkers.verdict import Verdict


class History:
    def __init__(self, session_s: float, rebalance_s: float) -> None:
        self.verdict = Verdict()
        self.records = RecordChecker(self.verdict)
        self.replicas = ReplicaChecker(self.verdict)
        self.metadata = MetadataChecker(self.verdict)
        self.transactions = TransactionChecker(self.verdict)
        self.group = GroupChecker(self.verdict, session_s, rebalance_s)
        self.commits = CommitChecker(self.verdict)
        self.shares = ShareChecker(self.verdict)
        self.committed_shares = ShareChecker(self.verdict)

    def check(self) -> None:
        """Raise the `Violation` that has been seen, if any."""
        self.verdict.check()

    def excuse(self, topic: str) -> None:
        """Elections of this topic may be unclean, so it may lose what was acknowledged."""
        self.records.excused.add(topic)
        self.replicas.excused.add(topic)

    def rots(self, node_id: int, partition: str) -> None:
        """Something of this node's replica (`orders-0`) is not as it was written."""
        self.replicas.rotten.add((node_id, partition))
