"""Rules of the quorum, broken on purpose, to prove that the checkers notice."""

import pytest

from penstock.cluster.raft import elections, leading, membership
from penstock.cluster.raft.core import Core
from penstock.cluster.raft.log_shape import Diverging, LogShape
from penstock.cluster.raft.records import kraft_version_batch, leader_change_batch, voters_batch
from penstock.cluster.raft.states import Leader
from penstock.cluster.raft.values import Election
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_simulation.raft.host import RaftHost
from penstock_simulation.raft.world import Plan, RaftWorld
from penstock_simulation.violation import Violation

SEEDS = range(150)
"""Each costs a tenth of a second, and the search ends with the first that finds the fault."""


def is_caught_as(*invariants: str) -> bool:
    """Whether one of the seeds breaks one of these invariants."""
    for seed in SEEDS:
        try:
            RaftWorld(seed).run()
        except Violation as violation:
            if violation.invariant in invariants:
                return True
    return False


def test_a_vote_that_is_sent_before_it_is_synced_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def persist_later(self: RaftWorld, host: RaftHost, election: Election) -> None:
        node = host.node
        if host.log.election is None:
            host.log.election = election

        def write_back() -> None:
            if host.node is node:
                host.log.election = election

        self.timeline.after(400, write_back)

    monkeypatch.setattr(RaftWorld, "persist", persist_later)
    assert is_caught_as("election safety", "log matching")


def test_truncation_by_offset_instead_of_epoch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(self: LogShape, offset: int, last_epoch: int) -> Diverging | None:
        return None if offset <= self.end_offset else Diverging(self.end)

    monkeypatch.setattr(LogShape, "compare", compare)
    assert is_caught_as("log matching", "state machine safety")


def test_two_changes_of_the_voters_at_once_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "is_change_pending", lambda _core, _leader: False)
    assert is_caught_as("voter sets")


def test_a_vote_for_a_log_that_lacks_records_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elections, "is_up_to_date", lambda _core, _last: True)
    assert is_caught_as("leader completeness")


# -- commit by count ----------------------------------------------------------------------------------------


def overwritten_commit() -> RaftWorld:
    """Figure 8 of the Raft paper: a record of an older epoch is on a majority, and is overwritten anyway.

    Node 1 has such a record, node 5 a later leader's record in its place. Node 1 leads nodes 2 and 3, which take its
    old record; then nodes 1 and 2 go down, and node 5 comes up and wins with the votes of those who have only that.
    """
    plan = Plan(
        voter_count=5,
        observer_count=0,
        fetch_bytes_max=1,
        clock_skew=0,
        fault_interval_ms=1e9,
        append_interval_ms=1e9,
    )
    world = RaftWorld(2, plan)
    voters = world.hosts[0].initial_voters
    base = [
        leader_change_batch(1, voters, [1, 2, 3], offset=0, epoch=1, timestamp=0),
        kraft_version_batch(offset=1, epoch=1, timestamp=0),
        voters_batch(voters, offset=2, epoch=1, timestamp=0),
    ]
    old = build_batch([NewRecord(value=b"old", timestamp=0)], base_offset=3, leader_epoch=1)
    later = leader_change_batch(5, voters, [3, 4, 5], offset=3, epoch=2, timestamp=0)
    for host, last in zip(world.hosts, [old, None, None, None, later], strict=True):
        for batch in [*base, *([last] if last else [])]:
            host.log.append(batch)
        host.log.sync(host.log.change_count)
        host.log.election = Election(epoch=2)
    one, two, three, four, five = world.hosts
    for host in (one, two, three):
        host.start()
    while world.checker.committed_end_offset <= 3:
        world.timeline.run_until(world.timeline.now_ms + 0.05)
    for host in (one, two, three):
        host.stop()
    for host in (three, four, five):
        host.start()
    world.timeline.run_until(world.timeline.now_ms + 20_000)
    return world


def test_commit_by_count_of_an_older_epochs_record_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def commit_by_count(core: Core, leader: Leader) -> None:
        core.commit(leading.replicated_offset(core, leader, core.voters))

    monkeypatch.setattr(leading, "update_high_watermark", commit_by_count)
    with pytest.raises(Violation, match=r"state machine safety|leader completeness"):
        overwritten_commit()


def test_with_the_rule_the_same_events_overwrite_nothing_committed() -> None:
    world = overwritten_commit()
    assert world.leader() is not world.hosts[4]
    assert b"old" in world.checker.committed[3][1]


# -- a hostile node -----------------------------------------------------------------------------------------


def run_beside_a_hostile_node(seed: int) -> None:
    RaftWorld(seed, Plan(hostile_interval_ms=20, faults=("crash",))).run()


def test_epochs_that_are_accepted_from_any_node_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next election after the last epoch there is cannot take place."""
    monkeypatch.setattr(Core, "may_take", lambda _core, _epoch: True)
    with pytest.raises((AssertionError, Violation), match=r"cannot be followed by another|liveness"):
        run_beside_a_hostile_node(1)


def test_a_replica_that_is_left_alone_in_a_later_epoch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leading, "note_later_epoch", lambda _core, _epoch: None)
    with pytest.raises(Violation, match="liveness"):
        for seed in range(20):
            run_beside_a_hostile_node(seed)
