"""Reassignments that are requested and watched, against a client that plays the cluster."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from penstock.cli.cluster.moves import (
    completed_moves,
    elect_preferred,
    request_moves,
    watch_moves,
    without_preferred_leader,
)
from penstock.cli.cluster.plan import Move
from penstock.cli.cluster.state import ClusterState, PartitionState
from penstock.cli.connect.requests import RequestClient
from penstock.cli.errors import CommandError
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_partition_reassignments as alter
from penstock.protocol.messages import elect_leaders

MOVES = [
    Move(topic="t", partition=0, before=(1, 2), after=(1, 3)),
    Move(topic="u", partition=4, before=(2,), after=(3,)),
]


class PlayedClient:
    """Gives one answer, and one view of the cluster after the other; the last one stays."""

    def __init__(self, answer: object = None, views: list[list[PartitionState]] | None = None) -> None:
        self.answer = answer
        self.requests: list[Any] = []
        self._views: Iterator[list[PartitionState]] = iter(views or [])
        self._last: list[PartitionState] = []

    def ask(self, request: object) -> object:
        self.requests.append(request)
        return self.answer

    def view(self) -> ClusterState:
        self._last = next(self._views, self._last)
        return ClusterState(cluster_id="c", brokers=[], partitions=self._last)


def played(client: PlayedClient) -> RequestClient:
    return cast("RequestClient", client)


def placed(
    topic: str, partition: int, *replicas: int, leader: int = 1, is_moving: bool = False
) -> PartitionState:
    return PartitionState(
        topic=topic,
        partition=partition,
        leader=leader,
        replicas=replicas,
        in_sync=replicas,
        is_moving=is_moving,
    )


def test_moves_never_change_a_replication_factor() -> None:
    client = PlayedClient(alter.AlterPartitionReassignmentsResponse())
    request_moves(played(client), MOVES)
    (request,) = client.requests
    assert not request.allow_replication_factor_change
    asked = [(t.name, p.partition_index, p.replicas) for t in request.topics for p in t.partitions]
    assert asked == [("t", 0, [1, 3]), ("u", 4, [3])]


def test_a_refused_move_is_named() -> None:
    refused = alter.ReassignablePartitionResponse(
        partition_index=4, error_code=ErrorCode.INVALID_REPLICA_ASSIGNMENT, error_message="No broker 3."
    )
    topic = alter.ReassignableTopicResponse(name="u", partitions=[refused])
    client = PlayedClient(alter.AlterPartitionReassignmentsResponse(responses=[topic]))
    with pytest.raises(CommandError, match=r"cannot move u-4: invalid replica assignment \(No broker 3\)"):
        request_moves(played(client), MOVES)


def test_moves_are_watched_until_all_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    started = [placed("t", 0, 1, 3, 2, is_moving=True), placed("u", 4, 3, 2, is_moving=True)]
    half = [placed("t", 0, 1, 3), started[1]]
    done = [half[0], placed("u", 4, 3)]
    client = PlayedClient(views=[started, started, half, done])
    watch_moves(client.view, MOVES, 60, now=lambda: 0.0, sleep=lambda _: None)
    assert capsys.readouterr().out.splitlines() == [
        "moved 0 of 2 partition(s)",
        "moved 1 of 2 partition(s)",
        "moved 2 of 2 partition(s)",
    ]


def test_watching_ends_with_its_timeout_and_an_error_that_the_moves_go_on() -> None:
    client = PlayedClient(views=[[placed("t", 0, 1, 2), placed("u", 4, 2)]])
    times = iter([0.0, 1.0, 2.0])
    with pytest.raises(CommandError, match=r"2 partition\(s\) still move after 2 s; they go on"):
        watch_moves(client.view, MOVES, 2, now=lambda: next(times), sleep=lambda _: None)


def test_a_partition_that_was_deleted_needs_no_move() -> None:
    facts = ClusterState(cluster_id="c", brokers=[], partitions=[placed("t", 0, 1, 2)])
    assert completed_moves(MOVES, facts) == [MOVES[1]]


def test_only_preferred_leaders_that_are_in_sync_are_elected() -> None:
    behind = PartitionState(topic="t", partition=2, leader=1, replicas=(2, 1), in_sync=(1,))
    wanted = placed("t", 1, 2, 1, leader=1)
    assert without_preferred_leader([placed("t", 0, 1, 2, leader=1), wanted, behind]) == [wanted]


def test_elections_that_were_not_needed_do_not_count_and_failed_ones_are_named() -> None:
    def answer(code: ErrorCode) -> elect_leaders.ElectLeadersResponse:
        results = [
            elect_leaders.PartitionResult(partition_id=0),
            elect_leaders.PartitionResult(partition_id=1, error_code=code),
        ]
        return elect_leaders.ElectLeadersResponse(
            replica_election_results=[
                elect_leaders.ReplicaElectionResult(topic="t", partition_result=results)
            ]
        )

    wanted = [placed("t", 0, 2, 1), placed("t", 1, 2, 1)]
    assert elect_preferred(played(PlayedClient(answer(ErrorCode.ELECTION_NOT_NEEDED))), wanted) == 1
    with pytest.raises(
        CommandError, match="cannot elect the preferred leader of t-1: preferred leader not available"
    ):
        elect_preferred(played(PlayedClient(answer(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE))), wanted)


def test_no_request_is_sent_when_every_leader_is_the_preferred_one() -> None:
    client = PlayedClient()
    assert elect_preferred(played(client), []) == 0
    assert client.requests == []
