"""Moves that are asked for and watched, against an operator that plays the cluster."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from penstock.cli.cluster_facts import ClusterFacts, Operator, Placed
from penstock.cli.cluster_moves import elect_preferred, is_done, misled, request_moves, watch_moves
from penstock.cli.cluster_plan import Move
from penstock.cli.errors import CommandError
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_partition_reassignments as alter
from penstock.protocol.messages import elect_leaders

MOVES = [
    Move(topic="t", partition=0, before=(1, 2), after=(1, 3)),
    Move(topic="u", partition=4, before=(2,), after=(3,)),
]


class PlayedOperator:
    """Gives one answer, and one view of the cluster after the other; the last one stays."""

    def __init__(self, answer: object = None, views: list[list[Placed]] | None = None) -> None:
        self.answer = answer
        self.requests: list[Any] = []
        self._views: Iterator[list[Placed]] = iter(views or [])
        self._last: list[Placed] = []

    def ask(self, _api_key: int, request: object) -> object:
        self.requests.append(request)
        return self.answer

    def facts(self) -> ClusterFacts:
        self._last = next(self._views, self._last)
        return ClusterFacts(cluster_id="c", brokers=[], partitions=self._last)


def played(operator: PlayedOperator) -> Operator:
    return cast("Operator", operator)


def placed(topic: str, partition: int, *replicas: int, leader: int = 1, is_moving: bool = False) -> Placed:
    return Placed(
        topic=topic,
        partition=partition,
        leader=leader,
        replicas=replicas,
        in_sync=replicas,
        is_moving=is_moving,
    )


def test_moves_never_change_a_replication_factor() -> None:
    operator = PlayedOperator(alter.AlterPartitionReassignmentsResponse())
    request_moves(played(operator), MOVES)
    (request,) = operator.requests
    assert not request.allow_replication_factor_change
    asked = [(t.name, p.partition_index, p.replicas) for t in request.topics for p in t.partitions]
    assert asked == [("t", 0, [1, 3]), ("u", 4, [3])]


def test_a_move_that_is_refused_is_told_by_name() -> None:
    refused = alter.ReassignablePartitionResponse(
        partition_index=4, error_code=ErrorCode.INVALID_REPLICA_ASSIGNMENT, error_message="No broker 3."
    )
    topic = alter.ReassignableTopicResponse(name="u", partitions=[refused])
    operator = PlayedOperator(alter.AlterPartitionReassignmentsResponse(responses=[topic]))
    with pytest.raises(CommandError, match=r"cannot move u-4: invalid replica assignment \(No broker 3\)"):
        request_moves(played(operator), MOVES)


def test_moves_are_watched_until_all_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    started = [placed("t", 0, 1, 3, 2, is_moving=True), placed("u", 4, 3, 2, is_moving=True)]
    half = [placed("t", 0, 1, 3), started[1]]
    done = [half[0], placed("u", 4, 3)]
    operator = PlayedOperator(views=[started, started, half, done])
    watch_moves(played(operator), MOVES, 60, now=lambda: 0.0, sleep=lambda _: None)
    assert capsys.readouterr().out.splitlines() == [
        "moved 0 of 2 partition(s)",
        "moved 1 of 2 partition(s)",
        "moved 2 of 2 partition(s)",
    ]


def test_watching_ends_with_its_time_and_says_that_the_moves_go_on() -> None:
    operator = PlayedOperator(views=[[placed("t", 0, 1, 2), placed("u", 4, 2)]])
    times = iter([0.0, 1.0, 2.0])
    with pytest.raises(CommandError, match=r"2 partition\(s\) still move after 2 s; they go on"):
        watch_moves(played(operator), MOVES, 2, now=lambda: next(times), sleep=lambda _: None)


def test_a_partition_that_was_deleted_needs_no_move() -> None:
    facts = ClusterFacts(cluster_id="c", brokers=[], partitions=[placed("t", 0, 1, 2)])
    assert is_done(MOVES, facts) == [MOVES[1]]


def test_only_preferred_leaders_that_are_in_sync_are_elected() -> None:
    behind = Placed(topic="t", partition=2, leader=1, replicas=(2, 1), in_sync=(1,))
    wanted = placed("t", 1, 2, 1, leader=1)
    assert misled([placed("t", 0, 1, 2, leader=1), wanted, behind]) == [wanted]


def test_elections_that_were_not_needed_do_not_count_and_failed_ones_are_told() -> None:
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
    assert elect_preferred(played(PlayedOperator(answer(ErrorCode.ELECTION_NOT_NEEDED))), wanted) == 1
    with pytest.raises(CommandError, match="no other leader for t-1: preferred leader not available"):
        elect_preferred(played(PlayedOperator(answer(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE))), wanted)


def test_nothing_is_asked_when_every_leader_is_the_preferred_one() -> None:
    operator = PlayedOperator()
    assert elect_preferred(played(operator), []) == 0
    assert operator.requests == []
