"""A `Persister` for the whole cluster: sends requests to the broker that coordinates a share partition.

Requests about one share partition run one at a time, in order: a retried write must not come after a later write, whose
start offset it would undo. Waiting writes are merged. A request is dropped once no caller waits for it: a group
coordinator that has lost its group must not interfere with the next one.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, TypeVar

from penstock.cluster.peers import Peers
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.runtime.clock import Clock
from penstock.share.state.coordinator import ShareStateCoordinator
from penstock.share.state.remote import RemoteShareCoordinator
from penstock.share.state.values import (
    PersisterError,
    SharePartitionKey,
    ShareState,
    ShareSummary,
    StateUpdate,
)

_ATTEMPTS = 10
_BACKOFF_MS_FIRST = 100
_BACKOFF_MS_MAX = 5000
_JITTER = 0.2
_BATCHES_MAX = 5000  # no more writes are merged into a larger one, which becomes one record in the log
_NO_LEADER = -1

_RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # of a coordinator that does not know the topic yet
        ErrorCode.NETWORK_EXCEPTION,
    }
)

T = TypeVar("T")

_Coordinator = ShareStateCoordinator | RemoteShareCoordinator


class _Request(Generic[T]):
    """A request and its waiters. Once all of them are cancelled, nothing more is sent for it."""

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
            self._worker.cancel()  # also a connection that is being opened must not send it

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
            if not self._is_abandoned() or worker.uncancel():  # the worker itself is cancelled
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


class _Write(_Request[None]):
    """One or more writes of one leader, merged."""

    def __init__(self, send: Callable[[StateUpdate], Awaitable[None]], update: StateUpdate) -> None:
        super().__init__(lambda: send(self._update))
        self._batches = list(update.batches)
        self._update = update._replace(batches=self._batches)

    def merge(self, later: StateUpdate) -> bool:
        """Add a later write, if it is of the same leader and there is room."""
        before = self._update
        is_of_same_leader = (before.state_epoch, before.leader_epoch) == (
            later.state_epoch,
            later.leader_epoch,
        )
        if not is_of_same_leader or len(self._batches) >= _BATCHES_MAX:
            return False
        self._batches += later.batches
        start_offset = before.start_offset if later.start_offset == -1 else later.start_offset
        self._update = later._replace(start_offset=start_offset, batches=self._batches)
        return True


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
        self._queues: dict[SharePartitionKey, deque[_Request[Any]]] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._is_stopped = False

    async def stop(self) -> None:
        """Fail all waiting and later requests with COORDINATOR_NOT_AVAILABLE."""
        self._is_stopped = True
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    # -- requests -------------------------------------------------------------------------------------

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        await self._in_order(key, lambda to: to.initialize(key, state_epoch, start_offset))

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        return await self._in_order(key, lambda to: to.read(key, leader_epoch))

    async def write(self, key: SharePartitionKey, update: StateUpdate) -> None:
        queue = self._queues.get(key)
        last = queue[-1] if queue else None
        if not isinstance(last, _Write) or not last.merge(update):
            last = _Write(lambda merged: self._send(key, lambda to: to.write(key, merged)), update)
            self._enqueue(key, last)
        await last.wait()

    async def summary(self, key: SharePartitionKey) -> ShareSummary:
        return await self._send(key, lambda to: to.summary(key))

    async def delete(self, key: SharePartitionKey) -> None:
        await self._in_order(key, lambda to: to.delete(key))

    # -- order ----------------------------------------------------------------------------------------

    async def _in_order(self, key: SharePartitionKey, send: Callable[[_Coordinator], Awaitable[T]]) -> T:
        request = _Request(partial(self._send, key, send))
        self._enqueue(key, request)
        return await request.wait()

    def _enqueue(self, key: SharePartitionKey, request: "_Request[Any]") -> None:
        if self._is_stopped:
            raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        queue = self._queues.get(key)
        if queue is not None:
            queue.append(request)
            return
        queue = self._queues[key] = deque((request,))
        worker = asyncio.get_running_loop().create_task(self._work(key, queue), name=f"share state of {key}")
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def _work(self, key: SharePartitionKey, queue: "deque[_Request[Any]]") -> None:
        request: _Request[Any] | None = None
        try:
            while queue:
                request = queue.popleft()
                await request.run()
        finally:
            del self._queues[key]
            for each in (request, *queue):
                if each is not None:  # it has its result, unless this was cancelled
                    each.fail(PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE))

    # -- retries --------------------------------------------------------------------------------------

    async def _send(self, key: SharePartitionKey, send: Callable[[_Coordinator], Awaitable[T]]) -> T:
        """Send a request to the coordinator, and retry it with a backoff."""
        backoff_ms: float = _BACKOFF_MS_FIRST
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                return await send(await self._coordinator_of(key))
            except PersisterError as error:
                if not attempts_left or error.code not in _RETRIABLE:
                    raise
            except (OSError, ProtocolError) as error:
                if not attempts_left:
                    raise PersisterError(ErrorCode.NETWORK_EXCEPTION, str(error)) from error
            await self._clock.sleep(backoff_ms * self._random.uniform(1 - _JITTER, 1 + _JITTER))
            backoff_ms = min(2 * backoff_ms, _BACKOFF_MS_MAX)
        raise AssertionError("the last attempt returns or raises")

    async def _coordinator_of(self, key: SharePartitionKey) -> _Coordinator:
        await self._local.ensure_topic()
        leader = self._local.leader_of(key)
        if leader == _NO_LEADER:
            raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if leader == self._node_id:
            return self._local
        return RemoteShareCoordinator(self._peers.channel(leader, waits_for="share state").call)
