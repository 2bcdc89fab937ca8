"""The checkers of a run, with the requests and answers of all clients and the acts of all nodes."""

from penstock_simulation.cluster.checkers.commits import CommitChecker
from penstock_simulation.cluster.checkers.coordinators import CoordinatorTerms
from penstock_simulation.cluster.checkers.groups import GroupChecker
from penstock_simulation.cluster.checkers.metadata import MetadataChecker
from penstock_simulation.cluster.checkers.records import RecordChecker
from penstock_simulation.cluster.checkers.replicas import ReplicaChecker
from penstock_simulation.cluster.checkers.shares import IsLeader, ShareChecker
from penstock_simulation.cluster.checkers.strangers import StrangerChecker
from penstock_simulation.cluster.checkers.transactions import TransactionChecker
from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.violation import ViolationLog


class History:
    def __init__(
        self, session_s: float, rebalance_s: float, *, is_leader: IsLeader = lambda _partition, _node: True
    ) -> None:
        self.violations = violations = ViolationLog()
        self.records = RecordChecker(violations)
        self.replicas = ReplicaChecker(violations)
        self.metadata = MetadataChecker(violations)
        self.coordinators = CoordinatorTerms()
        self.transactions = TransactionChecker(violations, self.coordinators)
        self.group = GroupChecker(violations, self.coordinators, session_s, rebalance_s)
        self.commits = CommitChecker(violations, self.coordinators)
        self.shares = ShareChecker(violations, is_leader)
        self.committed_shares = ShareChecker(violations, is_leader)
        self.strangers = StrangerChecker(violations)

    def check(self) -> None:
        """Raise the first `Violation`, if any."""
        self.violations.check()

    def allow_unclean_elections(self, topic: str) -> None:
        """Let a topic lose acknowledged and committed records."""
        self.records.lossy_topics.add(topic)
        self.replicas.unclean_topics.add(topic)

    def on_deleted(self, partition: PartitionName, offset: int) -> None:
        """Records before an offset are gone, as they may be."""
        for expected in (self.records.acknowledged, self.records.read):
            kept = {at: value for at, value in expected.get(partition, {}).items() if at >= offset}
            expected[partition] = kept
