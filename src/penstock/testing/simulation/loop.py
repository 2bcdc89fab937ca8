"""An event loop on virtual time: asyncio code runs on it unmodified, and the same seed gives the same run.

Nothing waits. When no callback is ready, the time jumps to the next timer. Connections go through a
`SimulatedNetwork`; work for an executor runs inline, after a delay that the seed draws. When nothing is ready and no
timer is set, nothing can ever happen again: `Stuck` is raised instead of waiting for ever.
"""

import asyncio
import contextvars
import socket
from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar

from penstock.testing.disk import PowerCut
from penstock.testing.simulation.network import SimulatedNetwork
from penstock.testing.simulation.nodes import current_node
from penstock.testing.simulation.transports import Listener, SimulatedTransport, connect

T = TypeVar("T")
_EPHEMERAL_PORT_FIRST = 40_000
_TURN_S = 1e-7
"""What a turn of the loop takes at least: who waits for a time by looking at the clock must see it pass."""


class Stuck(BaseException):
    """Everybody waits for something that will not come."""


class _Handle(asyncio.Handle):
    """As asyncio's, made in less time: a run makes hundreds of thousands."""

    __slots__ = ()

    def __init__(self, callback: Any, args: Any, loop: Any, context: Any = None) -> None:
        self._context = contextvars.copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None


class _Timer(asyncio.TimerHandle):
    __slots__ = ()

    def __init__(self, when: float, callback: Any, args: Any, loop: Any, context: Any = None) -> None:
        self._context = contextvars.copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None
        self._when = when
        self._scheduled = False

    def cancel(self) -> None:
        self._cancelled = True
        self._callback = None
        self._args = ()


class SimulatedLoop(asyncio.BaseEventLoop):
    def __init__(self, network: SimulatedNetwork, randomness: Random) -> None:
        super().__init__()
        self.network = network
        self.random = randomness
        self.trace: list[str] = []
        """What went over the network, and when: two runs of one seed have the same."""
        self.disk_slowness: dict[str, float] = {}
        """How many times longer than usual the work that waits for a disk takes, by machine."""
        self.slow_checkpoints: dict[str, asyncio.Event] = {}
        """By machine: a checkpoint that a truncation waits for takes until the event is set."""
        self.slow_work_chance = 0.0
        """That work off the loop takes tens or hundreds of milliseconds."""
        self._ended_lives: dict[str, int] = {}
        self._now_s = 0.0
        self._timers: list[tuple[float, int, _Timer]] = []
        self._timer_count = 0
        self._ready: deque[asyncio.Handle]  # asyncio's own
        self._stopping: bool
        self._listeners: dict[tuple[str, int], Listener] = {}
        self._next_port = _EPHEMERAL_PORT_FIRST
        self._future_count = 0
        # Ordered as they came, and not by where they lie in memory: a seed must give the same run again.
        self._transports: dict[SimulatedTransport, None] = {}
        self._tasks_of: dict[str, dict[asyncio.Task[Any], None]] = {}
        self.set_task_factory(_note_task)
        self.set_exception_handler(_mind_power_cuts)

    # -- time -----------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now_s

    def note(self, line: str) -> None:
        self.trace.append(f"{self._now_s * 1000:.3f} {line}")

    # -- turns: what BaseEventLoop does, for a time that jumps -----------------------------------------

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> _Timer:
        timer = _Timer(when, callback, args, self, context)
        self._timer_count += 1
        heappush(self._timers, (when, self._timer_count, timer))
        return timer

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> _Timer:
        return self.call_at(self._now_s + delay, callback, *args, context=context)

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Any = None
    ) -> _Handle:
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def _run_once(self) -> None:
        """Turns until the loop is to stop. What a turn makes ready is run in the next, which is later."""
        ready, timers = self._ready, self._timers
        while True:
            if not ready and not self._stopping:
                while timers and timers[0][2]._cancelled:  # noqa: SLF001
                    heappop(timers)
                if not timers:
                    raise Stuck("no callback is ready and no timer is set")
                self._now_s = max(self._now_s, timers[0][0])
            self._now_s = now_s = self._now_s + _TURN_S
            while timers and timers[0][0] <= now_s:
                ready.append(heappop(timers)[2])
            for _ in range(len(ready)):
                handle = ready.popleft()
                if not handle._cancelled:  # noqa: SLF001
                    handle._run()  # noqa: SLF001
            if self._stopping:
                return

    # -- what BaseEventLoop leaves to its subclasses --------------------------------------------------

    def _write_to_self(self) -> None:
        pass

    def run_in_executor(  # type: ignore[override]  # any callable, as asyncio has it
        self, _executor: Any, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        done: asyncio.Future[T] = self.create_future()

        def work() -> None:
            if done.cancelled():
                return
            try:
                done.set_result(func(*args))
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                done.set_exception(error)

        self.call_later(self.random.uniform(0, 0.001), work)
        return done

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        pass

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port))]

    # -- connections ----------------------------------------------------------------------------------

    async def create_server(  # type: ignore[override]  # what the broker uses of it
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: Any = None,
        port: int | None = None,
        *,
        start_serving: bool = True,
        **_: Any,
    ) -> Listener:
        """A listener at a name and port, which no real socket has; port 0 takes the next one."""
        if not port:
            port, self._next_port = self._next_port, self._next_port + 1
        address = (str(host), port)
        if address in self._listeners:
            raise OSError(98, "address already in use")
        listener = Listener(self, address, protocol_factory, current_node.get())
        self._listeners[address] = listener
        if start_serving:
            await listener.start_serving()
        return listener

    async def create_connection(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: Any = None,
        port: Any = None,
        **_: Any,
    ) -> tuple[SimulatedTransport, Any]:
        return await connect(self, protocol_factory, (str(host), int(port)))

    def listener_at(self, address: tuple[str, int]) -> Listener | None:
        return self._listeners.get(address)

    def forget_listener(self, listener: Listener) -> None:
        if self._listeners.get(listener.address) is listener:
            del self._listeners[listener.address]

    def note_transport(self, transport: SimulatedTransport) -> None:
        self._transports[transport] = None

    def forget_transport(self, transport: SimulatedTransport) -> None:
        self._transports.pop(transport, None)

    # -- nodes ----------------------------------------------------------------------------------------

    def note_task(self, task: "asyncio.Task[Any]") -> None:
        tasks = self._tasks_of.setdefault(current_node.get(), {})
        tasks[task] = None
        task.add_done_callback(lambda done: _forget(tasks, done))

    def run_on(self, node: str, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run something on a machine: its tasks, listeners and connections belong to it."""
        context = contextvars.copy_context()
        context.run(current_node.set, node)
        return context.run(self.create_task, work)

    def life_of(self, node: str) -> int:
        """Changes when the machine's process ends: work that was begun before has nobody to return to."""
        return self._ended_lives.get(node, 0)

    def power_off(self, node: str) -> None:
        """The machine is gone: its connections break, its listeners close, its tasks end. Its disk is the caller's."""
        self.note(f"power off {node}")
        self._ended_lives[node] = self.life_of(node) + 1
        for transport in [each for each in self._transports if each.node == node]:
            transport.vanish()
        for listener in [each for each in self._listeners.values() if each.node == node]:
            listener.close()
        for task in list(self._tasks_of.pop(node, {})):
            task.cancel()

    def retry_connections(self, node: str) -> None:
        """What waits to be sent to or from a machine is sent now, if there is a way again."""
        for transport in self._transports:
            if transport.node == node or (transport.peer is not None and transport.peer.node == node):
                self.call_soon(transport.retry)

    def break_connections(self, node: str) -> None:
        """All connections to and from a machine break; it goes on."""
        self.note(f"connections of {node} break")
        for transport in [each for each in self._transports if each.node == node]:
            transport.break_off()

    def create_future(self) -> "asyncio.Future[Any]":
        self._future_count += 1
        future = _Future(loop=self)
        future.number = self._future_count
        return future

    def create_numbered_task(self, work: Any, **options: Any) -> "asyncio.Task[Any]":
        self._future_count += 1
        return _Task(self._future_count, work, loop=self, **options)


class _Future(asyncio.Future[Any]):
    """Sets of futures are gone through by their hashes, which must not depend on where they lie in memory."""

    number = 0

    def __hash__(self) -> int:
        return self.number


class _Task(asyncio.Task[Any]):
    def __init__(self, number: int, work: Any, **options: Any) -> None:
        self._number = number
        super().__init__(work, **options)

    def __hash__(self) -> int:
        return self._number


def _note_task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> "asyncio.Task[Any]":
    assert isinstance(loop, SimulatedLoop)
    task = loop.create_numbered_task(work, **options)
    loop.note_task(task)
    return task


def _mind_power_cuts(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What runs on a machine without power fails in any place, and that is nothing to report."""
    if not isinstance(context.get("exception"), PowerCut):
        loop.default_exception_handler(context)


def _forget(tasks: "dict[asyncio.Task[Any], None]", done: "asyncio.Task[Any]") -> None:
    tasks.pop(done, None)
