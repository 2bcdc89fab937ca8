"""That the checkers notice: a rule of replication is broken on purpose, and some seed tells.

Which seed depends on every time that the code takes: one that was known to is tried first, then others.
"""

from collections.abc import Iterable

import pytest

from penstock.cluster.fetching import position
from penstock.cluster.fetching.position import LogView
from penstock.cluster.in_sync import Followers, WantedSet
from penstock.protocol.messages.fetch import FetchPartition
from penstock.testing.simulation.cluster.world import run_cluster
from penstock.testing.simulation.raft.checker import Violation


def violation_of(patch: pytest.MonkeyPatch, seeds: Iterable[int]) -> Violation:
    """The first that a seed finds, and does not find without the patch."""
    for seed in seeds:
        try:
            run_cluster(seed)
        except Violation as violation:
            patch.undo()
            run_cluster(seed)
            return violation
    pytest.fail("no seed has noticed")


def test_an_in_sync_set_that_is_shrunk_without_the_controller_loses_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shrink(followers: Followers, wanted: WantedSet) -> None:
        followers._in_sync = frozenset(each for each, _ in wanted.members)

    monkeypatch.setattr(Followers, "asked", shrink)
    # The new leader lacks what was acknowledged, so it refuses what comes after that; or somebody reads the gap.
    violation = violation_of(monkeypatch, [31, 38, *range(60)])
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in str(violation) or violation.invariant in {"acknowledged", "read"}


def test_logs_that_are_compared_by_offset_and_not_by_epoch_come_to_differ_or_never_catch_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask(number: int, log: LogView, leader_epoch: int, bytes_max: int) -> FetchPartition:
        return FetchPartition(
            partition=number,
            current_leader_epoch=leader_epoch,
            fetch_offset=log.end_offset,
            log_start_offset=log.start_offset,
            partition_max_bytes=bytes_max,
        )

    monkeypatch.setattr(position, "ask", ask)
    violation = violation_of(monkeypatch, [24, 33, *range(60)])
    assert violation.invariant in {"logs agree", "read", "acknowledged", "liveness"}
