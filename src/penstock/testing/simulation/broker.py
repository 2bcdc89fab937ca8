"""A real broker on a simulated machine: its own code, with virtual time, a `FaultyDisk` and no threads."""

import asyncio
import contextlib
import gc
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from random import Random
from typing import Any, TypeVar, cast

import msgspec

from penstock.config.broker import load
from penstock.config.listeners import Endpoint
from penstock.observability.offload import Then, ThreadOffload
from penstock.server.broker import Broker
from penstock.server.connection import Connection
from penstock.server.connection_host import Tracked
from penstock.server.server import Server
from penstock.storage.files import FileSystem
from penstock.storage.log_store import LogStore
from penstock.testing.offload import LoopOffload
from penstock.testing.simulation.loop import SimulatedLoop, Stuck
from penstock.testing.simulation.network import CALM, SimulatedNetwork, Weather
from penstock.testing.simulation.nodes import current_node
from penstock.testing.simulation.seeds import randomness

T = TypeVar("T")
_WALL_MS_AT_START = 1_700_000_000_000
_WORK_S_MAX = 0.002
_CHECK_S_MAX = 0.1
_SLOW_WORK_S = (0.01, 0.4)
_CANCELLATIONS_MAX = 5
_CANCELLATION_S = 1.0
SECRET = bytes(range(32))
"""That of the simulated cluster: a test that is no member does not know it."""


class SimulatedClock:
    """The loop's time as a `Clock`; `offset_ms` is how wrong this machine's wall clock is."""

    def __init__(self, loop: asyncio.AbstractEventLoop, offset_ms: int = 0) -> None:
        self._loop = loop
        self._wall_ms = _WALL_MS_AT_START + offset_ms

    def now_ms(self) -> int:
        return self._wall_ms + int(self._loop.time() * 1000)

    def monotonic_ms(self) -> float:
        return self._loop.time() * 1000

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(delay_ms / 1000)


class SimulatedOffload(LoopOffload):
    """Work takes a time that the seed draws: a part of it before the work is done, the rest until that is known.

    Mostly that is little. Now and then it is long enough for a partition to change its leader twice.
    """

    def __init__(self, loop: SimulatedLoop, longest_s: float = _WORK_S_MAX) -> None:
        super().__init__()
        self._loop = loop
        self._longest_s = longest_s
        self._node = current_node.get()
        self._life = loop.life_of(self._node)

    def call(self, work: Callable[[], object], then: Then) -> None:
        loop, random = self._loop, self._loop.random
        longest_s = self._longest_s * loop.disk_slowness.get(self._node, 1.0)
        took_s = random.uniform(0, longest_s)
        if loop.slow_work_chance and random.random() < loop.slow_work_chance:
            took_s += random.uniform(*_SLOW_WORK_S)
        done_s = random.choice((took_s, took_s, random.uniform(0, took_s)))
        loop.call_later(done_s, self._run_now, work, partial(self._end_later, took_s - done_s, then))

    def later(self, callback: Callable[..., None], work: Callable[[], object], then: Then) -> None:
        self._loop.call_later(_WORK_S_MAX, callback, work, then)

    def _end_later(self, delay_s: float, then: Then, result: object, failure: BaseException | None) -> None:
        if delay_s > 0:
            self._loop.call_later(delay_s, self._end, then, result, failure)
        else:
            self._end(then, result, failure)

    def _end(self, then: Then, result: object, failure: BaseException | None) -> None:
        if self._loop.life_of(self._node) == self._life:
            then(result, failure)


class SimulatedServer(Server):
    """Listens at names that only the simulation knows."""

    async def _listen(self, endpoint: Endpoint) -> Endpoint:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        server: Any = await loop.create_server(
            partial(Connection, self._host, endpoint.name),
            current_node.get(),
            endpoint.port,
            start_serving=False,
        )
        self._servers[endpoint.name] = server
        return msgspec.structs.replace(endpoint, host=server.address[0], port=server.address[1])


class _Ordered(set[Tracked]):
    """A set that is gone through in the order in which its members came, which a seed repeats."""

    def __init__(self) -> None:
        super().__init__()
        self._members: dict[Tracked, None] = {}

    def add(self, element: Tracked) -> None:
        super().add(element)
        self._members[element] = None

    def discard(self, element: object) -> None:
        super().discard(element)
        self._members.pop(cast("Tracked", element), None)

    def __iter__(self) -> Iterator[Tracked]:
        return iter(self._members)


class SimulatedBroker(Broker):
    """Starts and stops like any other. Its host name is its machine's."""

    store: LogStore
    """There once it has begun to start."""

    def _threads(self, count: int, name: str) -> ThreadOffload:  # noqa: ARG002 - there is one loop for all
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        return SimulatedOffload(loop, _CHECK_S_MAX if name == "penstock-check" else _WORK_S_MAX)

    async def _open_store(self, *args: Any) -> LogStore:
        self.store = await super()._open_store(*args)
        return self.store

    def _ring(self) -> None:
        return None

    def _server(self) -> Server:
        real = super()._server()
        self.connections = real._host.connections = _Ordered()  # noqa: SLF001 - see below
        # The broker takes no server as an argument, and all else of the real one is wanted.
        return SimulatedServer(
            real._host,  # noqa: SLF001
            real._clock,  # noqa: SLF001
            idle_ms_max=real._idle_ms_max,  # noqa: SLF001
            sockets=real._sockets,  # noqa: SLF001
        )


def simulated_broker(
    loop: SimulatedLoop,
    files: FileSystem,
    *,
    seed: int,
    node_id: int = 1,
    settings: tuple[str, ...] = (),
    join: tuple[tuple[str, int], ...] = (),
    secret: bytes = SECRET,
) -> SimulatedBroker:
    """A broker that keeps its data in `/data` of `files` and listens on port 9092 of the machine it runs on."""
    given = [f"node.id={node_id}", "log.dirs=/data", "listeners=PLAINTEXT://simulated:9092", *settings]
    return SimulatedBroker(
        load(None, given),
        files=files,
        clock=SimulatedClock(loop),
        randomness=randomness(seed, f"broker {node_id}"),
        join=join,
        secret=secret,
    )


def run_simulated(
    seed: int, work: Callable[[SimulatedLoop], Coroutine[Any, Any, T]], weather: Weather = CALM
) -> tuple[T, list[str]]:
    """Run something on a loop of its own; gives its result, and the trace of what went over the network."""
    network = SimulatedNetwork(randomness(seed, "network"), weather)
    drawn: Random = randomness(seed, "loop")
    loop = SimulatedLoop(network, drawn)
    with _no_collection():
        try:
            return loop.run_until_complete(work(loop)), loop.trace
        finally:
            _end_tasks(loop)
            loop.close()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Collect no cycles meanwhile: what ends with them would end at times that no seed draws."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
            gc.collect()  # the disks of a run are large


def _end_tasks(loop: SimulatedLoop) -> None:
    """Whatever still runs is cancelled.

    Again when that is not enough: who cleans up waits for a disk without power, and a connection that ends gives back
    the records of a share group, which makes new tasks, even in the last turn of the loop.
    """
    with contextlib.suppress(Stuck):
        for _ in range(_CANCELLATIONS_MAX):
            tasks = asyncio.all_tasks(loop)
            if not tasks:
                return
            loop.run_until_complete(_cancel(tasks))


async def _cancel(tasks: "set[asyncio.Task[Any]]") -> None:
    """In an order that does not depend on addresses in memory."""
    for task in sorted(tasks, key=hash):
        task.cancel()
    await asyncio.wait(tasks, timeout=_CANCELLATION_S)
