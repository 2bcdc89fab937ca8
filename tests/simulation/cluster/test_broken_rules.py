"""Rules of the cluster, broken on purpose: a wrong result, not a timeout, must reveal each within a few seeds.

The first seed that notices depends on the timing of all code, so several are tried.
"""

import pytest

from penstock.cluster.append_queue import AppendQueue
from penstock.cluster.commit import Commit
from penstock.cluster.fetching import position
from penstock.cluster.fetching.position import LogView
from penstock.cluster.in_sync import Followers, WantedSet
from penstock.cluster.quorum import quorum_state
from penstock.protocol.messages.fetch import FetchPartition
from penstock.server.dispatch import route
from penstock.share.state.persister import ClusterPersister
from penstock.share.state.values import SharePartitionKey
from penstock.storage.files import TEMPORARY, FileSystem, write_temporary
from penstock.storage.log.log import Log
from penstock.storage.producers.state import ProducerStates
from penstock_simulation.cluster.checkers import strangers
from penstock_simulation.cluster.world import run_cluster
from penstock_simulation.violation import Violation
from tests.simulation.cluster.mutants import run_mutated

SEEDS = range(12)
FAULT_COUNT = 4


def violation_of(patch: pytest.MonkeyPatch, fault: str) -> Violation:
    """The first violation of a seed with this fault that is absent without the patch; a timeout does not count."""
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


def test_a_vote_that_is_sent_before_it_is_synced_makes_two_controllers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def write_without_sync(files: FileSystem, path: str, content: bytes) -> None:
        write_temporary(files, path, content)
        files.rename(path + TEMPORARY, path)

    monkeypatch.setattr(quorum_state, "write_atomically", write_without_sync)
    violation = violation_of(monkeypatch, "crash_voter")
    assert violation.invariant in {"one controller", "committed metadata"}  # or the decisions of the two


def test_an_in_sync_set_that_is_shrunk_without_the_controller_loses_committed_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = Followers.wanted

    def shrink(followers: Followers, leader_end: int, high_watermark: int, now_ms: float) -> WantedSet | None:
        asked_for = wanted(followers, leader_end, high_watermark, now_ms)
        if asked_for is not None:
            followers._in_sync &= frozenset(each for each, _ in asked_for.members)
        return asked_for

    monkeypatch.setattr(Followers, "wanted", shrink)
    violation = violation_of(monkeypatch, "isolate_leader")
    assert violation.invariant in {
        "leader completeness",
        "committed truncated",
        "logs agree",
        "read",
        "acknowledged",
    }


def test_logs_that_are_compared_by_offset_and_not_by_epoch_diverge(
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
    assert violation_of(monkeypatch, "isolate_leader").invariant == "logs agree"


def test_acknowledged_records_are_redelivered_if_acknowledgements_are_not_persisted_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def write_nothing(_persister: ClusterPersister, _key: SharePartitionKey, _update: object) -> None:
        """As if memory were enough."""

    monkeypatch.setattr(ClusterPersister, "write", write_nothing)
    assert violation_of(monkeypatch, "crash").invariant == "delivered after acknowledgement"


def test_a_queued_append_is_lost_if_it_is_acknowledged_before_it_is_synced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    safety = AppendQueue._safety

    def safe_at_once(queue: AppendQueue, acks: int, log: Log) -> tuple[int, list[Commit]]:
        safe_offset, waiting = safety(queue, acks, log)
        return safe_offset if queue._replica.is_replicated else log.log_end_offset, waiting

    monkeypatch.setattr(AppendQueue, "_safety", safe_at_once)
    assert violation_of(monkeypatch, "cut_power_during_group_commit").invariant in {
        "acknowledged",
        "read",
        "order",
    }


def test_a_batch_that_is_sent_twice_is_stored_twice_unless_sequences_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ProducerStates, "check", lambda *_, **__: None)  # no check of sequence numbers
    assert violation_of(monkeypatch, "break_connections").invariant in {"acknowledged", "order", "read"}


def test_broker_only_requests_that_are_served_to_every_client_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(route, "BROKER_APIS", {})
    assert violation_of(monkeypatch, "clear_network").invariant == strangers.INVARIANT


@pytest.mark.parametrize(
    ("mutant", "fault"),
    [
        ("3-coordinator-appends-as-follower", "delay_metadata"),
        ("4a-leader-is-truncated", "elect_during_truncation"),
        ("4b-truncation-of-an-earlier-following", "elect_during_truncation"),
    ],
)
def test_a_decision_that_is_used_after_a_wait_without_a_new_check_is_noticed(mutant: str, fault: str) -> None:
    """The fault hits the moment of the wait: see `mutants` for runs with all faults."""
    assert any(run_mutated(mutant, [fault], seed)[1] is not None for seed in SEEDS)
