"""(i) Consumer groups: how long many members take to share out, and how many offset commits a second are held."""

import asyncio
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

from penstock.client.connection import Connection
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import find_coordinator, join_group, offset_commit, sync_group
from penstock_bench.context import Bench
from penstock_bench.frames import UnexpectedAnswer
from penstock_bench.process import ServerProcess

_DELAY_MS = 500
_COMMITTING_GROUPS = 100
_STEP_S = 0.005
_TOPIC = "groups"
_COMMIT_ROUND_FACTOR = 3
T = TypeVar("T")


def run(bench: Bench) -> None:
    board = bench.board
    counts = bench.scale.member_counts
    offered = bench.scale.commits_offered_per_s
    with bench.broker({_TOPIC: 1}, [f"group.initial.rebalance.delay.ms={_DELAY_MS}"]) as (server, _):
        for number in bench.rounds("members joining"):
            for count in counts:
                taken_s = _run(_join(server, f"round-{number}-of-{count}", count))
                board.add(f"{count:,} members stable after", taken_s, "s")
        for _ in bench.rounds("offset commits"):
            duration_s = bench.scale.round_s * _COMMIT_ROUND_FACTOR
            with server.usage() as used:
                rate, refused, latencies = _run(_commit(server, offered, duration_s))
            board.add("commits offered", offered, "/s")
            board.add("commits acknowledged", rate, "/s")
            board.add("commits refused", refused, "in a round")
            board.add_latencies("commit", latencies, "ms")
            board.add("commit, broker CPU", used.cpu_s / len(latencies) * 1e6, "µs/request")
    few, many = (f"{count:,} members stable after" for count in (counts[0], counts[-1]))
    board.ratio(f"{counts[-1]:,} members / {counts[0]:,}", many, few)
    board.ratio("commits acknowledged / offered", "commits acknowledged", "commits offered")


def _run(work: Coroutine[Any, Any, T]) -> T:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


async def _connect(server: ServerProcess, count: int) -> list[Connection]:
    return [await Connection.open(*server.address, client_id="bench") for _ in range(count)]


async def _close(connections: list[Connection]) -> None:
    for connection in connections:
        await connection.close()


async def _find(connection: Connection, group: str) -> None:
    await connection.call(10, 1, find_coordinator.FindCoordinatorRequest(key=group))


# -- members


async def _join(server: ServerProcess, group: str, count: int) -> float:
    connections = await _connect(server, count)
    await _find(connections[0], group)
    began = time.perf_counter()
    await asyncio.gather(*(_take_part(connection, group) for connection in connections))
    taken_s = time.perf_counter() - began
    await _close(connections)
    return taken_s


async def _take_part(connection: Connection, group: str) -> None:
    """Join and sync, and repeat both at every rebalance."""
    member_id = ""
    while True:
        request = join_group.JoinGroupRequest(
            group_id=group,
            session_timeout_ms=60_000,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[join_group.JoinGroupRequestProtocol(name="range", metadata=bytes(64))],
        )
        joined = await connection.call(11, 9, request)
        member_id = joined.member_id
        if joined.error_code:
            continue
        shares = [
            sync_group.SyncGroupRequestAssignment(member_id=m.member_id, assignment=bytes(64))
            for m in joined.members
        ]
        sync = sync_group.SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=shares,
        )
        synced = await connection.call(14, 5, sync)
        if not synced.error_code:
            return


# -- commits


async def _commit(
    server: ServerProcess, offered_per_s: int, duration_s: float
) -> tuple[float, int, list[float]]:
    """Offer commits at a constant rate. Return how many per second were acknowledged, how many timed out, and the
    seconds that each answer took.
    """
    connections = await _connect(server, _COMMITTING_GROUPS)
    for number, connection in enumerate(connections):
        await _find(connection, f"committing-{number}")
    timed: list[tuple[float, float]] = []
    answers: list[asyncio.Future[Any]] = []
    began = time.perf_counter()
    while (now := time.perf_counter()) < began + duration_s:
        due = int((now - began) * offered_per_s)
        for offset in range(len(answers), due):
            number = offset % _COMMITTING_GROUPS
            answer = connections[number].call(8, 8, _request(f"committing-{number}", offset))
            answer.add_done_callback(partial(_note, timed, time.perf_counter()))
            answers.append(answer)
        await asyncio.sleep(_STEP_S)
    refused = 0
    for response in await asyncio.gather(*answers):
        code = ErrorCode(response.topics[0].partitions[0].error_code)
        if code == ErrorCode.COORDINATOR_NOT_AVAILABLE:  # Kafka's code for a commit that timed out
            refused += 1
        elif code:
            raise UnexpectedAnswer(f"a commit was refused: {code.name}")
    taken_s = max(answered_at for _, answered_at in timed) - began
    await _close(connections)
    return (
        (len(answers) - refused) / taken_s,
        refused,
        [answered_at - sent_at for sent_at, answered_at in timed],
    )


def _request(group: str, offset: int) -> offset_commit.OffsetCommitRequest:
    partition = offset_commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = offset_commit.OffsetCommitRequestTopic(name=_TOPIC, partitions=[partition])
    return offset_commit.OffsetCommitRequest(group_id=group, topics=[topic])


def _note(timed: list[tuple[float, float]], sent_at: float, _: "asyncio.Future[Any]") -> None:
    timed.append((sent_at, time.perf_counter()))
