"""That the checkers notice: a rule is broken on purpose, and one of a few seeds tells, by what is wrong, not by time.

Which seed does depends on every time that the code takes: so a few are tried.
"""

import pytest

from penstock.cluster.append_queue import AppendQueue
from penstock.cluster.commit import Commit
from penstock.cluster.fetching import position
from penstock.cluster.fetching.position import LogView
from penstock.cluster.in_sync import Followers, WantedSet
from penstock.cluster.raft import quorum_state
from penstock.protocol.messages.fetch import FetchPartition
from penstock.server import route
from penstock.share.state.persister import ClusterPersister
from penstock.share.values import SharePartitionKey
from penstock.storage.files import TEMPORARY, FileSystem, write_temporary
from penstock.storage.log.log import Log
from penstock.storage.producer_state import ProducerStates
from penstock.testing.simulation.cluster.checkers import strangers
from penstock.testing.simulation.cluster.world import run_cluster
from penstock.testing.simulation.raft.checker import Violation
from tests.testing.simulation.cluster.mutants import run_mutated

SEEDS = range(12)
FAULT_COUNT = 4


def violation_of(patch: pytest.MonkeyPatch, fault: str) -> Violation:
    """The first that a seed with this fault finds, and does not find without the patch; not that time ran out."""
    for seed in SEEDS:
        try:
            run_cluster(seed, fault_count=FAULT_COUNT, only=[fault])
        except Violation as violation:
            if violation.invariant == "liveness":
                continue
            patch.undo()
            run_cluster(seed, fault_count=FAULT_COUNT, only=[fault])
            return violation
    pytest.fail("no seed has noticed")


def test_a_vote_that_is_told_before_it_is_synced_makes_two_controllers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def write_without_sync(files: FileSystem, path: str, content: bytes) -> None:
        write_temporary(files, path, content)
        files.rename(path + TEMPORARY, path)

    monkeypatch.setattr(quorum_state, "write_atomically", write_without_sync)
    violation = violation_of(monkeypatch, "crash_voter")
    assert violation.invariant in {"one controller", "committed metadata"}  # or what the two of them decide


def test_an_in_sync_set_that_is_shrunk_without_the_controller_loses_what_was_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = Followers.wanted

    def shrink(followers: Followers, leader_end: int, high_watermark: int, now_ms: float) -> WantedSet | None:
        asked_for = wanted(followers, leader_end, high_watermark, now_ms)
        if asked_for is not None:
            followers._in_sync &= frozenset(each for each, _ in asked_for.members)
        return asked_for

    monkeypatch.setattr(Followers, "wanted", shrink)
    violation = violation_of(monkeypatch, "maroon_leader")
    assert violation.invariant in {"leader completeness", "cut", "logs agree", "read", "acknowledged"}


def test_logs_that_are_compared_by_offset_and_not_by_epoch_come_to_differ(
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
    assert violation_of(monkeypatch, "maroon_leader").invariant == "logs agree"


def test_what_a_share_group_has_done_with_comes_again_unless_it_is_written_down_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def write_nothing(_persister: ClusterPersister, _key: SharePartitionKey, **_: object) -> None:
        """As if it were enough to remember it."""

    monkeypatch.setattr(ClusterPersister, "write", write_nothing)
    assert violation_of(monkeypatch, "crash").invariant == "done once"


def test_a_queued_append_is_lost_if_it_is_acknowledged_before_it_is_synced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    safety = AppendQueue._safety

    def safe_at_once(queue: AppendQueue, acks: int, log: Log) -> tuple[int, list[Commit]]:
        safe_offset, waiting = safety(queue, acks, log)
        return safe_offset if queue._replica.is_replicated else log.log_end_offset, waiting

    monkeypatch.setattr(AppendQueue, "_safety", safe_at_once)
    assert violation_of(monkeypatch, "crash_gathering").invariant in {"acknowledged", "read", "order"}


def test_a_batch_that_is_sent_twice_is_there_twice_unless_producers_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ProducerStates, "check", lambda *_, **__: None)  # no look at sequence numbers
    assert violation_of(monkeypatch, "break_connections").invariant in {"acknowledged", "order", "read"}


def test_a_hostile_node_notices_when_requests_for_brokers_are_served_to_everybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(route, "BROKER_APIS", {})
    assert violation_of(monkeypatch, "heal_network").invariant == strangers.INVARIANT


@pytest.mark.parametrize(
    ("mutant", "fault"),
    [
        ("3-coordinator-appends-as-follower", "strand"),
        ("4a-leader-is-truncated", "flip_leader"),
        ("4b-truncation-of-an-earlier-following", "flip_leader"),
    ],
)
def test_an_act_on_what_was_known_before_a_wait_is_noticed(mutant: str, fault: str) -> None:
    """The fault meets the moment of the wait: see `mutants`, where all faults may come."""
    assert any(run_mutated(mutant, [fault], seed)[1] is not None for seed in SEEDS)
