"""What a crash may take: of a topic that waives the wait for the disk, what its last eligible replicas had not synced.

Who returns from a crash leaves the in-sync and the eligible replicas of such a topic, unless nobody else is among them.
So records are lost when all of these are down after a crash at the same time, and only from where one of them ends:
which one comes back last, and leads, nobody can say before. That may come about by a crash, and by a change of the
eligible replicas: the controller elects one that has crashed as long as it takes it for alive.
"""

from collections.abc import Sequence

from penstock.cluster.metadata.state import Partition
from penstock.testing.simulation.cluster.checkers.replicas import PartitionId, ReplicaChecker
from penstock.testing.simulation.cluster.machine import Machine


class Losses:
    """`topics` are those that waive the wait now and then."""

    def __init__(self, machines: Sequence[Machine], checker: ReplicaChecker, topics: Sequence[str]) -> None:
        self._machines = {each.node_id: each for each in machines}
        self._checker = checker
        self._topics = topics
        checker.changes.subscribe(self.note_change)
        for machine in machines:
            machine.ends.subscribe(self.note_end)

    def note_end(self) -> None:
        """A process has ended."""
        for key in list(self._checker.states):
            self.note_change(key)

    def note_change(self, key: PartitionId) -> None:
        """Others are eligible, perhaps."""
        state, (topic, number) = self._checker.states[key], self._checker.names[key]
        if topic in self._topics and self._have_all_crashed(state):
            end_offset = min(self._machine(each).end_of(topic, number) for each in _eligible(state))
            if end_offset < self._checker.committed_end(key):
                self._checker.crashed_all(key, end_offset)

    def _have_all_crashed(self, state: Partition) -> bool:
        machines = [self._machine(each) for each in _eligible(state)]
        return bool(machines) and all(each.has_crashed for each in machines)

    def _machine(self, node_id: int) -> Machine:
        return self._machines[node_id]


def _eligible(state: Partition) -> set[int]:
    return {*state.isr, *state.elr}
