"""Finds the losses that a crash may cause to a topic that does not wait for syncs.

A replica that returns from a crash leaves the in-sync and the eligible replicas of such a topic, unless no other
replica is among them. So records are lost when all of these are down after a crash at the same time, from where the
shortest of their logs ends: any of them may come back last and lead. That may happen at a crash, and at a change of
the eligible replicas: the controller elects a crashed replica while it considers it alive.
"""

from collections.abc import Sequence

from penstock_simulation.cluster.checkers.replicas import PartitionId, ReplicaChecker
from penstock_simulation.cluster.machine import Machine


class LossDetector:
    """`topics` do not wait for syncs at times."""

    def __init__(self, machines: Sequence[Machine], checker: ReplicaChecker, topics: Sequence[str]) -> None:
        self._machines = {each.node_id: each for each in machines}
        self._checker = checker
        self._topics = topics
        checker.state_changes.subscribe(self._on_state_change)
        for machine in machines:
            machine.on_end.subscribe(self._on_end)

    def _on_end(self) -> None:
        for key in list(self._checker.states):
            self._on_state_change(key)

    def _on_state_change(self, key: PartitionId) -> None:
        state, (topic, number) = self._checker.states[key], self._checker.names[key]
        eligible = [self._machines[each] for each in {*state.isr, *state.elr}]
        if topic in self._topics and eligible and all(each.has_crashed for each in eligible):
            end_offset = min(each.intact_end_offset(topic, number) for each in eligible)
            if end_offset < self._checker.committed_end(key):
                self._checker.on_all_crashed(key, end_offset)
