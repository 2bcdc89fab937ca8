"""The state of share partitions, kept by whichever broker coordinates it: a `Persister` for the whole cluster.

What concerns one share partition goes one by one, in the order in which it was asked for: a write that is tried again
must not come behind a later one, whose start offset it would take back. Writes that gather meanwhile become one. What
nobody waits for any more is given up: a request of a coordinator that has lost its group must not come behind those of
the next one.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from penstock.cluster.peers import Peers
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.share.state import remote
from penstock.share.state.coordinator import ShareStateCoordinator
from penstock.share.values import PersisterError, SharePartitionKey, ShareState, ShareSummary, StateBatch

_ATTEMPTS = 10
_PAUSE_MS_FIRST = 100
_PAUSE_MS_MAX = 5000
_JITTER = 0.2
_BATCHES_MAX = 5000  # with so many a write is not added to: it is one record in the log
_NOBODY = -1

_WORTH_TRYING_AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # to a coordinator that has not heard of the topic yet
        ErrorCode.NETWORK_EXCEPTION,
    }
)

T = TypeVar("T")


class _Task(Generic[T]):
    """What is to be done, and who waits for it. Once nobody does, nothing more is sent for it."""

    def __init__(self, perform: Callable[[], Awaitable[T]]) -> None:
        self.perform = perform
        self._waiters: list[asyncio.Future[T]] = []
        self._worker: asyncio.Task[Any] | None = None  # while it performs this

    def wait(self) -> "asyncio.Future[T]":
        waiter: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        waiter.add_done_callback(self._on_waiter_done)
        self._waiters.append(waiter)
        return waiter

    def _is_abandoned(self) -> bool:
        return all(waiter.cancelled() for waiter in self._waiters)

    def _on_waiter_done(self, _: "asyncio.Future[T]") -> None:
        if self._worker is not None and self._is_abandoned():
            self._worker.cancel()  # a connection that is being opened must not send it, either

    async def run(self) -> None:
        if self._is_abandoned():
            return
        worker = self._worker = asyncio.current_task()
        assert worker is not None
        try:
            result = await self.perform()
        except PersisterError as error:
            self.fail(error)
        except asyncio.CancelledError:
            if not self._is_abandoned() or worker.uncancel():  # it is the worker that is to end
                raise
        else:
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_result(result)
        finally:
            self._worker = None

    def fail(self, error: PersisterError) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(PersisterError(error.code, str(error)))


class _Write(_Task[None]):
    """One or more writes of one leader, as one: their batches one after the other, the rest as the last has it."""

    def __init__(
        self, send: Callable[["_Write"], Awaitable[None]], state_epoch: int, leader_epoch: int
    ) -> None:
        super().__init__(lambda: send(self))
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = -1
        self.delivery_complete_count = -1
        self.batches: list[StateBatch] = []


class ClusterPersister:
    def __init__(
        self,
        node_id: int,
        local: ShareStateCoordinator,
        peers: Peers,
        clock: Clock,
        randomness: random.Random,
    ) -> None:
        self._node_id = node_id
        self._local = local
        self._peers = peers
        self._clock = clock
        self._random = randomness
        self._queues: dict[SharePartitionKey, deque[_Task[Any]]] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._is_stopped = False

    async def stop(self) -> None:
        """Whoever still waits, or asks from now on, is told that there is no coordinator."""
        self._is_stopped = True
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    # -- what is asked --------------------------------------------------------------------------------

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        await self._in_turn(
            key,
            partial(
                self._persist,
                key,
                lambda: self._local.initialize(key, state_epoch, start_offset),
                lambda call: remote.initialize(call, key, state_epoch, start_offset),
            ),
        )

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        return await self._in_turn(
            key,
            partial(
                self._persist,
                key,
                lambda: self._local.read(key, leader_epoch),
                lambda call: remote.read(call, key, leader_epoch),
            ),
        )

    async def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> None:
        queue = self._queues.get(key)
        task = queue[-1] if queue else None
        if not (
            isinstance(task, _Write)
            and (task.state_epoch, task.leader_epoch) == (state_epoch, leader_epoch)
            and len(task.batches) < _BATCHES_MAX
        ):
            task = _Write(partial(self._send, key), state_epoch, leader_epoch)
            self._queue(key, task)
        if start_offset != -1:
            task.start_offset = start_offset
        task.delivery_complete_count = delivery_complete_count
        task.batches += batches
        await task.wait()

    async def summary(self, key: SharePartitionKey) -> ShareSummary:
        return await self._persist(
            key, lambda: self._local.summary(key), lambda call: remote.summary(call, key)
        )

    async def delete(self, key: SharePartitionKey) -> None:
        await self._in_turn(
            key,
            partial(
                self._persist,
                key,
                lambda: self._local.delete(key),
                lambda call: remote.delete(call, key),
            ),
        )

    async def _send(self, key: SharePartitionKey, write: _Write) -> None:
        await self._persist(
            key,
            lambda: self._local.write(
                key,
                state_epoch=write.state_epoch,
                leader_epoch=write.leader_epoch,
                start_offset=write.start_offset,
                delivery_complete_count=write.delivery_complete_count,
                batches=write.batches,
            ),
            lambda call: remote.write(
                call,
                key,
                state_epoch=write.state_epoch,
                leader_epoch=write.leader_epoch,
                start_offset=write.start_offset,
                delivery_complete_count=write.delivery_complete_count,
                batches=write.batches,
            ),
        )

    # -- one by one -----------------------------------------------------------------------------------

    async def _in_turn(self, key: SharePartitionKey, perform: Callable[[], Awaitable[T]]) -> T:
        task = _Task(perform)
        self._queue(key, task)
        return await task.wait()

    def _queue(self, key: SharePartitionKey, task: "_Task[Any]") -> None:
        if self._is_stopped:
            raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        queue = self._queues.get(key)
        if queue is not None:
            queue.append(task)
            return
        queue = self._queues[key] = deque((task,))
        worker = asyncio.get_running_loop().create_task(self._work(key, queue), name=f"share state of {key}")
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def _work(self, key: SharePartitionKey, queue: "deque[_Task[Any]]") -> None:
        task: _Task[Any] | None = None
        try:
            while queue:
                task = queue.popleft()
                await task.run()
        finally:
            del self._queues[key]
            for each in (task, *queue):
                if each is not None:  # it has been told, unless this was cancelled
                    each.fail(PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE))

    # -- again and again ------------------------------------------------------------------------------

    async def _persist(
        self,
        key: SharePartitionKey,
        here: Callable[[], Awaitable[T]],
        there: Callable[[remote.Call], Awaitable[T]],
    ) -> T:
        """Ask the coordinator, wherever it is, until it answers or there is no more point in asking."""
        pause_ms: float = _PAUSE_MS_FIRST
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                return await self._ask(key, here, there)
            except PersisterError as error:
                if not attempts_left or error.code not in _WORTH_TRYING_AGAIN:
                    raise
            except (OSError, ProtocolError) as error:
                if not attempts_left:
                    raise PersisterError(ErrorCode.NETWORK_EXCEPTION, str(error)) from error
            await self._clock.sleep(pause_ms * self._random.uniform(1 - _JITTER, 1 + _JITTER))
            pause_ms = min(2 * pause_ms, _PAUSE_MS_MAX)
        raise AssertionError("the last attempt returns or raises")

    async def _ask(
        self,
        key: SharePartitionKey,
        here: Callable[[], Awaitable[T]],
        there: Callable[[remote.Call], Awaitable[T]],
    ) -> T:
        await self._local.ensure_topic()
        leader = self._local.leader_of(key)
        if leader == _NOBODY:
            raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if leader == self._node_id:
            return await here()
        return await there(self._peers.channel(leader, waits_for="share state").call)
