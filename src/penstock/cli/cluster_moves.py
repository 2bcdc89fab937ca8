"""Carrying a plan out: partitions are told to move, and watched until they have."""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from penstock.cli.cluster_facts import ClusterFacts, Operator, Placed, error_words
from penstock.cli.cluster_plan import Move
from penstock.cli.errors import CommandError
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_partition_reassignments as alter
from penstock.protocol.messages import elect_leaders

_LOOK_SECONDS = 0.2
_PREFERRED = 0
_NOT_NEEDED = ErrorCode.ELECTION_NOT_NEEDED


def request_moves(operator: Operator, moves: Sequence[Move]) -> None:
    """Have partitions move, without a change of their replication factor. Nothing is called off when one is refused."""
    request = alter.AlterPartitionReassignmentsRequest(
        topics=[
            alter.ReassignableTopic(
                name=topic,
                partitions=[
                    alter.ReassignablePartition(partition_index=each.partition, replicas=list(each.after))
                    for each in group
                ],
            )
            for topic, group in groupby(moves, key=lambda each: each.topic)
        ],
        allow_replication_factor_change=False,
    )
    answer: alter.AlterPartitionReassignmentsResponse = operator.ask(alter.API_KEY, request)
    refused = [
        f"{topic.name}-{each.partition_index}: {error_words(each)}"
        for topic in answer.responses
        for each in topic.partitions
        if each.error_code
    ]
    if refused:
        more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
        raise CommandError(f"cannot move {refused[0]}{more}; the others move")


def is_done(moves: Iterable[Move], facts: ClusterFacts) -> list[Move]:
    """The moves that have come to their end. A partition that is not there any more needs none."""
    places = {(each.topic, each.partition): each for each in facts.partitions}

    def is_there(move: Move) -> bool:
        place = places.get((move.topic, move.partition))
        return place is None or (not place.is_moving and set(place.replicas) == set(move.after))

    return [move for move in moves if is_there(move)]


def watch_moves(
    operator: Operator,
    moves: Sequence[Move],
    timeout_seconds: float,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Tell how many have moved, until all have."""
    deadline = now() + timeout_seconds
    told = -1
    while True:
        count = len(is_done(moves, operator.facts()))
        if count != told:
            print(f"moved {count} of {len(moves)} partition(s)", flush=True)
            told = count
        if count == len(moves):
            return
        if now() >= deadline:
            raise CommandError(
                f"{len(moves) - count} partition(s) still move after {timeout_seconds:g} s; they go on: "
                "see `penstock cluster status`, and run this again to go on watching"
            )
        sleep(_LOOK_SECONDS)


def misled(partitions: Iterable[Placed]) -> list[Placed]:
    """Partitions whose preferred leader could lead and does not."""
    return [
        each for each in partitions if each.replicas[0] != each.leader and each.replicas[0] in each.in_sync
    ]


def elect_preferred(operator: Operator, partitions: Sequence[Placed]) -> int:
    """Hand partitions to their preferred leaders; gives how many changed hands."""
    if not partitions:
        return 0
    request = elect_leaders.ElectLeadersRequest(
        election_type=_PREFERRED,
        topic_partitions=[
            elect_leaders.TopicPartitions(topic=topic, partitions=[each.partition for each in group])
            for topic, group in groupby(partitions, key=lambda each: each.topic)
        ],
    )
    answer: elect_leaders.ElectLeadersResponse = operator.ask(elect_leaders.API_KEY, request)
    results = [
        (topic.topic, each) for topic in answer.replica_election_results for each in topic.partition_result
    ]
    failed = [
        f"{topic}-{each.partition_id}: {error_words(each)}"
        for topic, each in results
        if each.error_code not in (ErrorCode.NONE, _NOT_NEEDED)
    ]
    if failed:
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise CommandError(f"no other leader for {failed[0]}{more}: see `penstock cluster status`, try again")
    return sum(1 for _, each in results if each.error_code == ErrorCode.NONE)
