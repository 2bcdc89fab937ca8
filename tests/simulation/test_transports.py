"""Streams through a faulty network: stalls, deliveries and broken connections."""

import asyncio

import pytest

from penstock_simulation.broker import run_simulated
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.network import RELIABLE, Conditions


class Listening(asyncio.Protocol):
    """Records the arriving bytes, and answers each chunk."""

    def __init__(self, noted: list[bytes]) -> None:
        self._noted = noted

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._noted.append(data)
        self._transport.write(b"received " + data)


class Asking(asyncio.Protocol):
    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.answers.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(exc)


class Pair:
    """A machine that asks ("client") and one that listens ("far")."""

    async def open(self, loop: SimulatedLoop) -> "Pair":
        self.received: list[bytes] = []

        async def listen() -> None:
            await loop.create_server(lambda: Listening(self.received), "far", 1)

        await loop.run_on("far", listen())
        self.transport, self.asking = await loop.create_connection(Asking, "far", 1)
        return self

    @property
    def answers(self) -> bytes:
        return b"".join(self.asking.answers)


def test_a_link_that_is_blocked_one_way_delivers_the_request_and_stalls_the_response() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await Pair().open(loop)
        loop.network.block("far", "client")
        pair.transport.write(b"?")
        await asyncio.sleep(2)
        assert (b"".join(pair.received), pair.answers) == (b"?", b"")
        loop.network.clear_faults()
        await asyncio.sleep(2)
        assert pair.answers == b"received ?"

    run_simulated(1, scenario)


def test_a_connection_is_refused_without_a_listener_and_times_out_without_power() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await Pair().open(loop)
        loop.network.refuse_connections("far")
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Asking, "far", 1)
        pair.transport.write(b"?")
        await asyncio.sleep(1)
        assert pair.answers == b"received ?"  # existing connections continue
        loop.network.clear_faults()
        loop.power_off("far")
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Asking, "far", 1)
        loop.network.set_unreachable("far")
        with pytest.raises(TimeoutError):
            await loop.create_connection(Asking, "far", 1)

    run_simulated(1, scenario)


def test_at_most_a_window_is_sent_without_acknowledgement() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await Pair().open(loop)
        loop.network.block("far", "client")
        pair.transport.write(bytes(60_000))
        await asyncio.sleep(1)
        pair.transport.write(bytes(60_000))
        await asyncio.sleep(1)
        assert sum(map(len, pair.received)) == 60_000
        loop.network.clear_faults()
        await asyncio.sleep(1)
        assert sum(map(len, pair.received)) == 120_000

    run_simulated(2, scenario)


def test_lost_packets_stall_a_stream_and_keep_its_order() -> None:
    async def scenario(loop: SimulatedLoop) -> float:
        pair = await Pair().open(loop)
        before_s = loop.time()
        for number in range(10):
            pair.transport.write(b"%d" % number)
            await asyncio.sleep(0.01)
        expected = b"".join(b"received %d" % number for number in range(10))
        while pair.answers != expected:
            assert expected.startswith(pair.answers)
            await asyncio.sleep(0.01)
        return loop.time() - before_s

    calm_s, _ = run_simulated(3, scenario, RELIABLE)
    lossy_s, _ = run_simulated(3, scenario, Conditions(loss_chance=0.5))
    assert calm_s < 0.2 < lossy_s


def test_a_connection_that_breaks_may_have_delivered_the_request() -> None:
    async def scenario(loop: SimulatedLoop) -> bytes:
        pair = await Pair().open(loop)
        pair.transport.write(b"?")
        assert isinstance(await pair.asking.lost, ConnectionResetError)
        assert pair.answers == b""
        return b"".join(pair.received)

    breaking = Conditions(break_chance=1.0)
    assert {run_simulated(seed, scenario, breaking)[0] for seed in range(8)} == {b"", b"?"}


def test_the_connections_of_a_machine_break_for_both_ends() -> None:
    async def scenario(loop: SimulatedLoop) -> None:
        pair = await Pair().open(loop)
        loop.break_connections("far")
        assert isinstance(await pair.asking.lost, ConnectionResetError)

    run_simulated(4, scenario)
