"""The whole server under many, slow and leaving clients, on both event loops."""

import asyncio
import contextlib
import gc
import logging
import socket
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from penstock.client.connection import Connection, Disconnected
from penstock.protocol.messages.describe_cluster import DescribeClusterRequest
from penstock.protocol.messages.fetch import FetchPartition
from penstock.protocol.messages.metadata import MetadataRequest
from penstock.runtime.clock import ManualClock
from tests.server.live import (
    Live,
    TopicHandle,
    batch,
    fetch_request,
    fetch_topic,
    produce_request,
    running_broker,
    until,
    values_in,
    within,
)
from tests.server.raw import connected, frame_of, silent_socket

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "uvloop": uvloop.new_event_loop,
    "asyncio": asyncio.new_event_loop,
}


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Callable[[Awaitable[None]], None]:
    """Run a scenario in a loop of its own, in debug mode; whatever the loop complains about is a failure."""

    def run_scenario(scenario: Awaitable[None]) -> None:
        complaints: list[dict[str, Any]] = []
        with asyncio.Runner(loop_factory=LOOPS[request.param], debug=True) as runner:
            runner.get_loop().set_exception_handler(lambda _, context: complaints.append(context))
            runner.run(within(60, scenario))
            gc.collect()  # tasks and futures that nobody looked at complain when they go
        assert complaints == []

    return run_scenario


def test_a_thousand_connections_are_served(run: Callable[[Any], None], tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as live:
            clients = [await live.connect() for _ in range(1000)]
            answers = await asyncio.gather(*(c.send(DescribeClusterRequest()) for c in clients))
            assert all(a.error_code == 0 for a in answers)
            topic = await clients[0].create_topic()
            produced = await asyncio.gather(*(c.produce(topic, batch(b"v")) for c in clients))
            assert sorted(p.base_offset for p in produced) == list(range(1000))
            for c in clients:
                await c.close()

    run(scenario())


def test_a_stopping_broker_answers_requests_in_flight(run: Callable[[Any], None], tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            topic = await client.create_topic()
            requests = [client.send(produce_request(topic, {0: batch(b"v")})) for _ in range(20)]
            await until(lambda: _end_of(live, topic) == 20)
        answers = [(await r).responses[0].partition_responses[0] for r in requests]
        assert [(a.error_code, a.base_offset) for a in answers] == [(0, i) for i in range(20)]
        with pytest.raises(Disconnected):
            await client.send(MetadataRequest())
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            assert len(values_in(await client.fetch(topic))) == 20

    run(scenario())


def _end_of(live: Live, topic: TopicHandle) -> int:
    replica = live.services.replicas.get(topic.name, 0)
    return replica.log.log_end_offset if replica is not None else 0


def test_idle_connections_are_closed_and_busy_ones_are_not(
    run: Callable[[Any], None], tmp_path: Path
) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with running_broker(tmp_path, {"connections.max.idle.ms": "5000"}, clock=clock) as live:
            idle, busy, waiting = [await live.connect() for _ in range(3)]
            topic = await idle.create_topic()
            wanted = {0: FetchPartition(partition=0)}
            polled = waiting.send(fetch_request([fetch_topic(topic, 18, wanted)], max_wait_ms=100_000))
            replica = live.services.replicas.get(topic.name, 0)
            assert replica is not None
            await until(lambda: bool(replica._readers))
            for _ in range(4):
                await busy.send(DescribeClusterRequest())
                clock.advance(4000)
                await asyncio.sleep(0)
            await until(lambda: idle.connection._lost is not None)
            assert (await busy.send(DescribeClusterRequest())).error_code == 0
            await busy.produce(topic, batch(b"news", timestamp=clock.now_ms()))
            assert (await polled).responses

    run(scenario())


def test_closing_an_idle_connection_logs_no_warning(
    run: Callable[[Any], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with running_broker(tmp_path, {"connections.max.idle.ms": "5000"}, clock=clock) as live:
            reader, writer = await asyncio.open_connection(live.host, live.port)
            await until(lambda: len(live.connections()) == 1)
            while live.connections():
                clock.advance(4000)
                await asyncio.sleep(0)
            assert await reader.read() == b""
            writer.close()

    run(scenario())
    warnings = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert [each.getMessage() for each in warnings if each.name.startswith("penstock")] == []


def test_responses_to_a_client_that_does_not_read_are_bounded(
    run: Callable[[Any], None], tmp_path: Path
) -> None:
    """It asks for 1 MB five hundred times in one go and reads nothing; others are served as ever."""

    async def scenario() -> None:
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            topic = await client.create_topic()
            await client.produce(topic, batch(b"v" * 1_000_000))
            wanted = {0: FetchPartition(partition=0, partition_max_bytes=1 << 20)}
            ask = frame_of(fetch_request([fetch_topic(topic, 18, wanted)]))
            silent = silent_socket(live)
            silent.send(ask * 500)
            for _ in range(50):
                await client.send(DescribeClusterRequest())
            (connection,) = [c for c in live.connections() if c.peer.port == silent.getsockname()[1]]
            assert connection._transport.get_write_buffer_size() < 8_000_000
            silent.close()
            await until(lambda: connection not in live.connections())

    run(scenario())


def test_responses_queued_behind_a_waiting_one_are_bounded(
    run: Callable[[Any], None], tmp_path: Path
) -> None:
    """A long poll is first, so that no later response can be written."""

    async def scenario() -> None:
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            topic = await client.create_topic()
            await client.produce(topic, batch(b"v" * 200_000))
            wanted = {0: FetchPartition(partition=0, partition_max_bytes=1 << 20)}
            ask = frame_of(fetch_request([fetch_topic(topic, 18, wanted)]))
            small = frame_of(MetadataRequest(topics=[]))
            for behind, count in ((ask, 100), (small, 400)):
                empty = await client.create_topic()
                poll = frame_of(fetch_request([fetch_topic(empty, 18, wanted)], max_wait_ms=1_000_000))
                reader, writer = await connected(live)
                port = writer.get_extra_info("sockname")[1]
                writer.write(poll + behind * count)
                for _ in range(50):
                    await client.send(DescribeClusterRequest())
                (connection,) = [c for c in live.connections() if c.peer.port == port]
                assert connection._unwritten_bytes < 8_000_000
                assert len(connection._slots) <= 300
                await client.produce(empty, batch(b"news"))
                for _ in range(1 + count):
                    (size,) = struct.unpack(">i", await reader.readexactly(4))
                    await reader.readexactly(size)
                writer.close()

    run(scenario())


def test_a_request_that_arrives_byte_by_byte_is_served(run: Callable[[Any], None], tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as live:
            reader, writer = await connected(live)
            for byte in frame_of(DescribeClusterRequest()) * 2:
                writer.write(bytes((byte,)))
                await asyncio.sleep(0)
            for _ in range(2):
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                await reader.readexactly(size)
            writer.close()

    run(scenario())


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff",
        b"\x06\x40\x00\x01" + b"x" * 1000,
        b"\x00\x00\x00\x01x",
        b"\x00\x00\x00\x08" + b"\xff" * 8,
    ],
)
def test_random_bytes_close_their_own_connection_only(
    run: Callable[[Any], None], tmp_path: Path, garbage: bytes
) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            reader, writer = await connected(live)
            writer.write(garbage)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            assert (await client.send(DescribeClusterRequest())).error_code == 0

    run(scenario())


def test_announced_frames_that_are_not_sent_take_little_memory(
    run: Callable[[Any], None], tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            writers = [(await connected(live))[1] for _ in range(50)]
            for writer in writers:
                writer.write(struct.pack(">i", 100_000_000) + b"x" * 100)
            await until(lambda: sum(1 for c in live.connections() if c._body is not None) == 50)
            assert all(len(c._body) <= 1 << 20 for c in live.connections() if c._body is not None)
            assert (await client.send(DescribeClusterRequest())).error_code == 0
            for writer in writers:
                writer.close()

    run(scenario())


def test_short_lived_connections_leave_nothing_behind(run: Callable[[Any], None], tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as live:
            admin = await live.connect()
            topic = await admin.create_topic()
            await admin.produce(topic, batch(b"v"))
            before = len(asyncio.all_tasks())
            for round_number in range(30):
                sock = socket.create_connection((live.host, live.port))
                wanted = {0: FetchPartition(partition=0, fetch_offset=1)}
                poll = frame_of(fetch_request([fetch_topic(topic, 18, wanted)], max_wait_ms=100_000))
                produce = frame_of(produce_request(TopicHandle(topic.name, topic.id), {0: b"bad"}))
                sock.sendall((produce + poll * 5)[: None if round_number % 2 else -3])
                await admin.send(DescribeClusterRequest())
                if round_number % 3 == 0:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
            replica = live.services.replicas.get(topic.name, 0)
            assert replica is not None
            await until(lambda: not replica._readers and len(live.connections()) == 1)
            await until(lambda: len(asyncio.all_tasks()) <= before)

    run(scenario())


def test_a_connection_dropped_in_the_middle_of_a_response_is_cleaned_up(
    run: Callable[[Any], None], tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            topic = await client.create_topic()
            for _ in range(8):
                await client.produce(topic, batch(b"v" * 1_000_000))
            wanted = {0: FetchPartition(partition=0, partition_max_bytes=1 << 24)}
            silent = silent_socket(live)
            silent.send(frame_of(fetch_request([fetch_topic(topic, 18, wanted)], max_bytes=1 << 24)) * 20)
            await until(lambda: any(c._is_peer_slow for c in live.connections()))
            silent.close()
            await until(lambda: len(live.connections()) == 1)
            assert (await client.send(DescribeClusterRequest())).error_code == 0

    run(scenario())


def test_the_number_of_connections_is_limited(run: Callable[[Any], None], tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path, {"max.connections": "3"}) as live:
            clients = [await live.connect() for _ in range(3)]
            for c in clients:
                await c.send(DescribeClusterRequest())
            refused = await Connection.open(live.host, live.port)
            with pytest.raises(Disconnected):
                await refused.call(60, 2, DescribeClusterRequest())
            await clients[0].close()
            await until(lambda: len(live.connections()) == 2)
            assert (await (await live.connect()).send(DescribeClusterRequest())).error_code == 0

    run(scenario())


def test_a_client_that_reads_nothing_for_too_long_is_disconnected(
    run: Callable[[Any], None], tmp_path: Path
) -> None:
    """It is owed answers for ever, and closing would wait for ever until it takes them."""

    async def scenario() -> None:
        clock = ManualClock()
        async with running_broker(tmp_path, {"connections.max.idle.ms": "5000"}, clock=clock) as live:
            client = await live.connect()
            topic = await client.create_topic()
            await client.produce(topic, batch(b"v" * 1_000_000, timestamp=clock.now_ms()))
            wanted = {0: FetchPartition(partition=0, partition_max_bytes=1 << 20)}
            silent = silent_socket(live)
            silent.send(frame_of(fetch_request([fetch_topic(topic, 18, wanted)])) * 100)
            await until(lambda: live.services.memory.unsent_bytes > 0)
            connections = live.services.metrics.connections
            assert len(connections) == 2
            while len(connections) > 1:
                await client.send(DescribeClusterRequest())
                clock.advance(4000)
                await asyncio.sleep(0)
            assert live.services.memory.unsent_bytes == 0
            silent.close()

    run(scenario())
