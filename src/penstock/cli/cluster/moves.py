"""Reassign partitions and elect leaders as planned, and watch until it is done."""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from penstock.cli.cluster.plan import Move
from penstock.cli.cluster.state import ClusterState, PartitionState
from penstock.cli.connect.requests import RequestClient, error_text
from penstock.cli.errors import CommandError
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_partition_reassignments as alter
from penstock.protocol.messages import elect_leaders

_POLL_S = 0.2
_PREFERRED = 0


def request_moves(client: RequestClient, moves: Sequence[Move]) -> None:
    """Request reassignments, at the same replication factor. One that is refused does not cancel the others."""
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
    response: alter.AlterPartitionReassignmentsResponse = client.ask(request)
    refused = _failures(
        (topic.name, each.partition_index, each) for topic in response.responses for each in topic.partitions
    )
    if refused:
        raise CommandError(f"cannot move {refused}; the others move")


def _failures(results: Iterable[tuple[str, int, Any]]) -> str:
    """Describe the first partition that failed and count the others; empty if none did."""
    failed = [
        f"{topic}-{partition}: {error_text(each)}"
        for topic, partition, each in results
        if each.error_code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    ]
    return failed[0] + (f" and {len(failed) - 1} more" if len(failed) > 1 else "") if failed else ""


def completed_moves(moves: Iterable[Move], cluster: ClusterState) -> list[Move]:
    """Select the moves that are complete. A partition that was deleted needs none."""
    places = {(each.topic, each.partition): each for each in cluster.partitions}

    def is_complete(move: Move) -> bool:
        place = places.get((move.topic, move.partition))
        return place is None or (not place.is_moving and set(place.replicas) == set(move.after))

    return [move for move in moves if is_complete(move)]


def watch_moves(
    read_state: Callable[[], ClusterState],
    moves: Sequence[Move],
    timeout_s: float,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Print how many partitions have moved, until all have."""
    deadline = now() + timeout_s
    printed = -1
    while True:
        count = len(completed_moves(moves, read_state()))
        if count != printed:
            print(f"moved {count} of {len(moves)} partition(s)", flush=True)
            printed = count
        if count == len(moves):
            return
        if now() >= deadline:
            raise CommandError(
                f"{len(moves) - count} partition(s) still move after {timeout_s:g} s; they go on: "
                "see `penstock cluster status`, and run this again to go on watching"
            )
        sleep(_POLL_S)


def without_preferred_leader(partitions: Iterable[PartitionState]) -> list[PartitionState]:
    """Select partitions whose preferred leader is in sync and does not lead."""
    return [
        each for each in partitions if each.replicas[0] != each.leader and each.replicas[0] in each.in_sync
    ]


def elect_preferred(client: RequestClient, partitions: Sequence[PartitionState]) -> int:
    """Elect the preferred leaders of partitions; gives how many leaders changed."""
    if not partitions:
        return 0
    request = elect_leaders.ElectLeadersRequest(
        election_type=_PREFERRED,
        topic_partitions=[
            elect_leaders.TopicPartitions(topic=topic, partitions=[each.partition for each in group])
            for topic, group in groupby(partitions, key=lambda each: each.topic)
        ],
    )
    response: elect_leaders.ElectLeadersResponse = client.ask(request)
    results = [
        (topic.topic, each.partition_id, each)
        for topic in response.replica_election_results
        for each in topic.partition_result
    ]
    if failed := _failures(results):
        raise CommandError(
            f"cannot elect the preferred leader of {failed}: see `penstock cluster status`, try again"
        )
    return sum(1 for _, _, each in results if each.error_code == ErrorCode.NONE)
