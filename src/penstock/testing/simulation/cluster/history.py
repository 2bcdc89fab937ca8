"""All that clients were told and nodes did over a whole run, in the hands of the checkers."""

from penstock.testing.simulation.cluster.checkers.commits import CommitChecker
from penstock.testing.simulation.cluster.checkers.groups import GroupChecker
from penstock.testing.simulation.cluster.checkers.metadata import MetadataChecker
from penstock.testing.simulation.cluster.checkers.records import PartitionName, RecordChecker
from penstock.testing.simulation.cluster.checkers.replicas import ReplicaChecker
from penstock.testing.simulation.cluster.checkers.shares import IsLeader, ShareChecker, any_may_lead
from penstock.testing.simulation.cluster.checkers.strangers import StrangerChecker
from penstock.testing.simulation.cluster.checkers.transactions import TransactionChecker
from penstock.testing.simulation.cluster.checkers.verdict import Verdict


class History:
    def __init__(
        self,
        session_s: float,
        rebalance_s: float,
        verdict: Verdict | None = None,
        *,
        is_leader: IsLeader = any_may_lead,
    ) -> None:
        self.verdict = verdict or Verdict()
        self.records = RecordChecker(self.verdict)
        self.replicas = ReplicaChecker(self.verdict)
        self.metadata = MetadataChecker(self.verdict)
        self.transactions = TransactionChecker(self.verdict)
        self.group = GroupChecker(self.verdict, session_s, rebalance_s)
        self.commits = CommitChecker(self.verdict)
        self.shares = ShareChecker(self.verdict, is_leader)
        self.committed_shares = ShareChecker(self.verdict, is_leader)
        self.strangers = StrangerChecker(self.verdict)

    def check(self) -> None:
        """Raise the `Violation` that has been seen, if any."""
        self.verdict.check()

    def excuse(self, topic: str) -> None:
        """Elections of this topic may be unclean, so it may lose what was acknowledged."""
        self.forgive(topic)
        self.replicas.excused.add(topic)

    def forgive(self, topic: str) -> None:
        """What clients were told of this topic does not count; what replicas have does."""
        self.records.excused.add(topic)

    def deleted_before(self, partition: PartitionName, offset: int) -> None:
        """Records of this partition below an offset are gone, and may be."""
        for told in (self.records.acknowledged, self.records.read):
            kept = {at: value for at, value in told.get(partition, {}).items() if at >= offset}
            told[partition] = kept

    def rots(self, node_id: int, partition: str) -> None:
        """Something of this node's replica (`orders-0`) is not as it was written."""
        self.replicas.rotten.add((node_id, partition))
