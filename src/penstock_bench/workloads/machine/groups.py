"""(i) Consumer groups: how long many members take to share out, and how many offset commits a second are held."""

import asyncio
import time
from collections import deque
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar, cast

from penstock.client.connection import Connection
from penstock.protocol.errors import ErrorCode
from penstock.protocol.headers import encode_response_frame
from penstock.protocol.messages import find_coordinator, join_group, offset_commit, sync_group
from penstock_bench.context import Bench
from penstock_bench.frames import UnexpectedAnswer, frame
from penstock_bench.process import ServerProcess

_DELAY_MS = 500
_COMMITTING_GROUPS = 100
_STEP_S = 0.005
_TOPIC = "groups"
_COMMIT_ROUND_FACTOR = 3
_COMMIT_VERSION = 8
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


class _Committer(asyncio.Protocol):
    """One group: sends the same commit again and again, and compares each response with the expected bytes.

    A client that encodes and decodes takes more of a processor for each commit than the broker does.
    """

    def __init__(self, number: int) -> None:
        partition = offset_commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=number)
        topic = offset_commit.OffsetCommitRequestTopic(name=_TOPIC, partitions=[partition])
        request = offset_commit.OffsetCommitRequest(group_id=_group(number), topics=[topic])
        self._frame = frame(offset_commit.API_KEY, _COMMIT_VERSION, request)
        self._success, self._timed_out = (
            _commit_response(code) for code in (ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        )
        self._received = b""
        self._sent_at: deque[float] = deque()
        self.answered: list[tuple[float, float]] = []
        """When each commit was sent, and answered."""
        self.refused_count = 0
        self.failure = ""
        self.all_answered = asyncio.Event()
        self.all_answered.set()
        """Every commit has its response, or the connection failed."""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self) -> None:
        self.all_answered.clear()
        self._sent_at.append(time.perf_counter())
        self._transport.write(self._frame)

    def data_received(self, data: bytes) -> None:
        now, size = time.perf_counter(), len(self._success)
        data = self._received + data
        whole_bytes = len(data) - len(data) % size
        for begin in range(0, whole_bytes, size):
            response = data[begin : begin + size]
            if response == self._timed_out:
                self.refused_count += 1
            elif response != self._success:
                self.failure = f"unexpected response: {response.hex()}"
            self.answered.append((self._sent_at.popleft(), now))
        self._received = data[whole_bytes:]
        if not self._sent_at:
            self.all_answered.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.failure = self.failure or f"connection lost: {exc}"
        self.all_answered.set()

    def close(self) -> None:
        self._transport.close()


def _group(number: int) -> str:
    return f"committing-{number}"


def _commit_response(code: ErrorCode) -> bytes:
    partition = offset_commit.OffsetCommitResponsePartition(partition_index=0, error_code=code)
    topic = offset_commit.OffsetCommitResponseTopic(name=_TOPIC, partitions=[partition])
    response = offset_commit.OffsetCommitResponse(topics=[topic])
    encode = offset_commit.encode_response_into
    return bytes(encode_response_frame(offset_commit.API_KEY, encode, response, _COMMIT_VERSION, 0)[0])


async def _commit(
    server: ServerProcess, offered_per_s: int, duration_s: float
) -> tuple[float, int, list[float]]:
    """Offer commits at a constant rate. Return how many per second were acknowledged, how many timed out, and the
    seconds that each response took.
    """
    (finder,) = await _connect(server, 1)
    for number in range(_COMMITTING_GROUPS):
        await _find(finder, _group(number))
    await _close([finder])
    loop = asyncio.get_running_loop()
    committers = [
        (await loop.create_connection(partial(_Committer, number), *server.address))[1]
        for number in range(_COMMITTING_GROUPS)
    ]
    sent_count = 0
    began = time.perf_counter()
    while (now := time.perf_counter()) < began + duration_s:
        due = int((now - began) * offered_per_s)
        for number in range(sent_count, due):
            committers[number % _COMMITTING_GROUPS].send()
        sent_count = due
        await asyncio.sleep(_STEP_S)
    for each in committers:
        await each.all_answered.wait()
        if each.failure:
            raise UnexpectedAnswer(f"a commit failed: {each.failure}")
        each.close()
    timed = [each for committer in committers for each in committer.answered]
    refused_count = sum(each.refused_count for each in committers)
    taken_s = max(answered_at for _, answered_at in timed) - began
    return (
        (len(timed) - refused_count) / taken_s,
        refused_count,
        [answered_at - sent_at for sent_at, answered_at in timed],
    )
