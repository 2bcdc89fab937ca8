"""An event loop on virtual time: asyncio code runs on it unmodified, and the same seed produces the same run.

When no callback is ready, the time jumps to the next timer. Connections go through a `SimulatedNetwork`; work for an
executor runs inline, after a delay that the seed draws. `Deadlock` is raised when no callback is ready and no timer is
set.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar

import msgspec

from penstock_simulation.disk import PowerCut
from penstock_simulation.network import SimulatedNetwork, current_node
from penstock_simulation.transports import Listener, SimulatedTransport, connect

T = TypeVar("T")
_EPHEMERAL_PORT_FIRST = 40_000
_TURN_S = 1e-7
"""The least duration of a turn of the loop: code that polls the clock must see it advance."""


class Deadlock(BaseException):
    """Every task waits for an event that cannot happen."""


class _Handle(msgspec.Struct, eq=False):
    """Replaces asyncio's handles: a run makes hundreds of thousands, so they must be cheap to make."""

    context: Context
    callback: Any
    """None when cancelled."""
    args: tuple[Any, ...]

    def cancel(self) -> None:
        self.callback, self.args = None, ()

    def cancelled(self) -> bool:
        return self.callback is None


class SimulatedLoop(asyncio.BaseEventLoop):
    def __init__(self, network: SimulatedNetwork, randomness: Random) -> None:
        super().__init__()
        self.network = network
        self.random = randomness
        self.trace: list[str] = []
        """The network traffic with its times: two runs of one seed have the same."""
        self.disk_slowness: dict[str, float] = {}
        """By machine: how many times longer than usual work on the disk takes."""
        self.slow_checkpoints: dict[str, asyncio.Event] = {}
        """By machine: an event that ends the checkpoint which a truncation waits for."""
        self.slow_work_chance = 0.0
        """Chance that work off the loop takes tens or hundreds of milliseconds."""
        self._ended_processes: dict[str, int] = {}
        self._now_s = 0.0
        self._timers: list[tuple[float, int, _Handle]] = []
        self._timer_count = 0
        self._ready: deque[_Handle]  # asyncio's own
        self._stopping: bool
        self._listeners: dict[tuple[str, int], Listener] = {}
        self._next_port = _EPHEMERAL_PORT_FIRST
        self._future_count = 0
        # Dictionaries keep their order; sets of objects would depend on addresses in memory.
        self._transports: dict[SimulatedTransport, None] = {}
        self._tasks_of: dict[str, dict[asyncio.Task[Any], None]] = {}
        self.set_exception_handler(_ignore_power_cuts)

    # -- time -----------------------------------------------------------------------------------------

    get_debug = bool  # False: every future and task asks

    def time(self) -> float:
        return self._now_s

    def add_trace(self, line: str) -> None:
        self.trace.append(f"{self._now_s * 1000:.3f} {line}")

    # -- turns: as in BaseEventLoop, with time that jumps ----------------------------------------------

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> _Handle:
        handle = _Handle(copy_context() if context is None else context, callback, args)
        self._timer_count += 1
        heappush(self._timers, (when, self._timer_count, handle))
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> _Handle:
        return self.call_at(self._now_s + delay, callback, *args, context=context)

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Any = None
    ) -> _Handle:
        handle = _Handle(copy_context() if context is None else context, callback, args)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]  # there are no threads

    def _run_once(self) -> None:
        """Run turns until the loop is to stop. Callbacks that a turn makes ready run in the next turn."""
        ready, timers = self._ready, self._timers
        while True:
            if not ready and not self._stopping:
                while timers and timers[0][2].callback is None:
                    heappop(timers)
                if not timers:
                    raise Deadlock("no callback is ready and no timer is set")
                self._now_s = max(self._now_s, timers[0][0])
            self._now_s = now_s = self._now_s + _TURN_S
            while timers and timers[0][0] <= now_s:
                ready.append(heappop(timers)[2])
            for _ in range(len(ready)):
                handle = ready.popleft()
                if handle.callback is not None:
                    try:
                        handle.context.run(handle.callback, *handle.args)
                    except (SystemExit, KeyboardInterrupt):
                        raise
                    except BaseException as error:  # noqa: BLE001 - as asyncio's handles do
                        message = f"Exception in callback {handle.callback}"
                        self.call_exception_handler({"message": message, "exception": error})
            if self._stopping:
                return

    # -- abstract methods of BaseEventLoop ------------------------------------------------------------

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
            except Exception as error:  # noqa: BLE001 - passed to the future
                done.set_exception(error)

        self.call_later(self.random.uniform(0, 0.001), work)
        return done

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        pass

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port))]

    # -- connections ----------------------------------------------------------------------------------

    async def create_server(  # type: ignore[override]  # the part that the broker uses
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: Any = None,
        port: int | None = None,
        *,
        start_serving: bool = True,
        **_: Any,
    ) -> Listener:
        """Listen at a simulated name and port; port 0 takes the next free one."""
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

    def remove_listener(self, listener: Listener) -> None:
        if self._listeners.get(listener.address) is listener:
            del self._listeners[listener.address]

    def add_transport(self, transport: SimulatedTransport) -> None:
        self._transports[transport] = None

    def remove_transport(self, transport: SimulatedTransport) -> None:
        self._transports.pop(transport, None)

    # -- nodes ----------------------------------------------------------------------------------------

    def create_task(self, coro: Any, **options: Any) -> "asyncio.Task[Any]":
        self._future_count += 1
        task = _Task(self._future_count, coro, loop=self, **options)
        tasks = self._tasks_of.setdefault(current_node.get(), {})
        tasks[task] = None
        task.add_done_callback(tasks.pop)
        return task

    def run_on(self, node: str, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run a coroutine on a machine, which owns its tasks, listeners and connections."""
        context = copy_context()
        context.run(current_node.set, node)
        return context.run(self.create_task, work)

    def process_number(self, node: str) -> int:
        """Count the processes of a machine that have ended: results of their work are dropped."""
        return self._ended_processes.get(node, 0)

    def power_off(self, node: str) -> None:
        """Break a machine's connections, close its listeners and end its tasks. The caller handles its disk."""
        self.add_trace(f"power off {node}")
        self._ended_processes[node] = self.process_number(node) + 1
        for transport in [each for each in self._transports if each.node == node]:
            transport.drop()
        for listener in [each for each in self._listeners.values() if each.node == node]:
            listener.close()
        for task in list(self._tasks_of.pop(node, {})):
            task.cancel()

    def retry_connections(self, node: str) -> None:
        """Send the stalled bytes to and from a machine now, where the link works again."""
        for transport in self._transports:
            if transport.node == node or (transport.peer is not None and transport.peer.node == node):
                self.call_soon(transport.retry)

    def break_connections(self, node: str) -> None:
        """Break all connections to and from a machine that continues to run."""
        self.add_trace(f"connections of {node} break")
        for transport in [each for each in self._transports if each.node == node]:
            transport.break_connection()

    def create_future(self) -> "asyncio.Future[Any]":
        self._future_count += 1
        future = _Future(loop=self)
        future.number = self._future_count
        return future


class _Future(asyncio.Future[Any]):
    """Its hash does not depend on its address in memory, so sets of futures have the same order in each run."""

    number = 0

    def __hash__(self) -> int:
        return self.number


class _Task(asyncio.Task[Any]):
    def __init__(self, number: int, work: Any, **options: Any) -> None:
        self._number = number
        super().__init__(work, **options)

    def __hash__(self) -> int:
        return self._number


def _ignore_power_cuts(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Do not report failures of code on a machine without power."""
    if not isinstance(context.get("exception"), PowerCut):
        loop.default_exception_handler(context)
