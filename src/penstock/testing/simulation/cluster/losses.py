"""What a crash may take: of a topic that waives the wait for the disk, what its last eligible replicas had not synced.

Who returns from a crash leaves the in-sync and the eligible replicas of such a topic, unless nobody else is among them.
So records are lost when all of these are down after a crash at the same time, and only from where one of them ends:
which one comes back last, and leads, nobody can say before.
"""

from collections.abc import Sequence

from penstock.cluster.metadata.state import Partition
from penstock.testing.simulation.cluster.checkers.replicas import ReplicaChecker
from penstock.testing.simulation.cluster.machine import Machine


class Losses:
    """`topics` are those that waive the wait now and then."""

    def __init__(self, machines: Sequence[Machine], checker: ReplicaChecker, topics: Sequence[str]) -> None:
        self._machines = {each.node_id: each for each in machines}
        self._checker = checker
        self._topics = topics

    def note_end(self) -> None:
        """A process has ended."""
        for key, state in list(self._checker.states.items()):
            topic, number = self._checker.names[key]
            if topic in self._topics and self._have_all_crashed(state):
                end_offset = min(self._machine(each).end_of(topic, number) for each in _eligible(state))
                if end_offset < self._checker.committed_end(key):
                    self._checker.crashed_all(key, end_offset)

    def _have_all_crashed(self, state: Partition) -> bool:
        machines = [self._machine(each) for each in _eligible(state)]
        return all(not each.is_serving and not each.has_stopped_cleanly for each in machines)

    def _machine(self, node_id: int) -> Machine:
        return self._machines[node_id]


def _eligible(state: Partition) -> set[int]:
    return {*state.isr, *state.elr}
