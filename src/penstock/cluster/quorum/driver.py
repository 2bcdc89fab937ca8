"""Runs a node of the quorum on an event loop: performs its effects on disk and network, one event at a time.

There are three tasks. One handles events and performs their effects in order; a `Persist` holds back all later effects.
One applies committed records to the state machine (`applying.py`). The flusher syncs the log meanwhile. If the disk
fails, the node leaves the quorum, because it could not keep its promises. From then on it only reads the records that
the others commit, for the state machine (`commit_watcher.py`).
"""

import asyncio
import contextlib
import errno
import logging
import random
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from penstock.cluster.quorum.applying import Applier, StateMachine
from penstock.cluster.quorum.commit_watcher import Peers, Watcher
from penstock.cluster.quorum.quorum_state import QuorumStateFile
from penstock.cluster.quorum.stored_log import StoredRaftLog
from penstock.cluster.raft.effects import (
    Answer,
    AnswerWithRecords,
    AnswerWithSnapshot,
    Append,
    AppendAnswered,
    Committed,
    DropPrefix,
    Effect,
    InstallSnapshot,
    LeaderChanged,
    Left,
    Persist,
    Send,
    StoreSnapshotChunk,
    TakeSnapshot,
    Truncate,
)
from penstock.cluster.raft.errors import NotLeader, RaftFailed
from penstock.cluster.raft.events import (
    AppendRequested,
    Event,
    RequestArrived,
    RequestFailed,
    ResignRequested,
    ResponseArrived,
    SnapshotInstalled,
    SnapshotRejected,
    SnapshotTaken,
    Synced,
    Tick,
)
from penstock.cluster.raft.messages import Request, Response
from penstock.cluster.raft.node import RaftNode
from penstock.cluster.raft.values import Address, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import VoterSet
from penstock.observability.log_limiter import LogLimiter
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import Clock
from penstock.runtime.offload import Offload
from penstock.storage.errors import LogCorrupt, LogError, StorageError

_log = logging.getLogger(__name__)

_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_STOP_MS_MAX = 1_000


class RaftDriver:
    """`node` is for reading; events go through the driver."""

    def __init__(
        self,
        log: StoredRaftLog,
        quorum_state: QuorumStateFile,
        state_machine: StateMachine,
        peers: Peers,
        *,
        clock: Clock,
        offload: Offload,
        on_failure: Callable[[Exception], None],
    ) -> None:
        """`on_failure` is called when the disk has failed and the node has left the quorum."""
        self._log = log
        self._quorum_state = quorum_state
        self._machine = state_machine
        self._peers = peers
        self._clock = clock
        self._offload = offload
        self._on_failure = on_failure
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._applier = Applier(
            log,
            state_machine,
            voters_at=self._voters_at,
            on_snapshot=lambda snapshot: self._events.put_nowait(SnapshotTaken(snapshot)),
        )
        self._applying: asyncio.Task[None] | None = None
        self._watcher: Watcher | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._appending: dict[asyncio.Future[int], None] = {}
        """All waiting appends, also those that are not in the log yet."""
        self._requests: dict[asyncio.Future[Response], None] = {}
        """The requests without an answer yet."""
        self._is_syncing = False
        self._left = asyncio.Event()
        self._failure: Exception | None = None
        self._has_stopped = False
        self._cluster_id = ""
        self._settings = RaftSettings()
        self._is_deciding = False
        self._refusal: StorageError | None = None
        """The error with which the disk refused the append of the current event."""
        self._log_limiter = LogLimiter(clock)
        self.node: RaftNode

    async def start(
        self,
        me: ReplicaKey,
        cluster_id: str,
        initial_voters: VoterSet,
        *,
        settings: RaftSettings,
        randomness: random.Random,
        endpoints: tuple[Address, ...] = (),
        bootstrap: tuple[Address, ...] = (),
    ) -> None:
        """Load the log and join the quorum. A single voter leads, and has applied its log, when this returns."""
        self._cluster_id, self._settings = cluster_id, settings
        history, size_bytes = await self._log.scan(initial_voters)
        shape = self._log.shape()
        self.node = RaftNode(
            me,
            cluster_id,
            election=await self._offload.run(
                partial(
                    self._quorum_state.read,
                    log_epoch=shape.last_epoch,
                    is_alone=history.latest.is_only(me),
                )
            ),
            log=shape,
            voter_history=history,
            settings=settings,
            randomness=randomness,
            stamp_ms=self._clock.now_ms,
            endpoints=endpoints,
            bootstrap=bootstrap,
            bytes_since_snapshot=size_bytes,
        )
        if shape.latest_snapshot is not None:
            await self._applier.load(shape.latest_snapshot)
        await self._perform(self.node.start(self._clock.monotonic_ms()))
        if self.node.is_leader:
            await self._log.sync()
            await self._handle(Synced(self._log.durable_offset))
            await self._applier.catch_up()
        self._spawn(self._run())
        self._applying = self._spawn(self._apply())

    def change_settings(self, settings: RaftSettings) -> None:
        """The timeouts from now on; one that runs keeps its end."""
        self._settings = self.node.settings = settings

    async def stop(self) -> None:
        """Hand leadership over if this node has it, then end."""
        self._events.put_nowait(ResignRequested(is_for_good=True))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._left.wait(), _STOP_MS_MAX / 1000)
        self._end()
        if self._applying is not None:
            self._applying.cancel()
        self._has_stopped = True
        for waiter in list(self._requests):
            if not waiter.done():
                waiter.set_exception(RaftFailed("this node has left the metadata quorum"))
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _voters_at(self, end_offset: int) -> VoterSet | None:
        return self.node.voters_at(end_offset)

    @property
    def end_offset(self) -> int:
        return self._log.end_offset

    @property
    def leader_addresses(self) -> tuple[Address, ...]:
        """The addresses of the leader, if it is another node and known."""
        if self._failure is not None:
            return () if self._watcher is None else self._watcher.leader_addresses
        return self._known_leader_addresses

    @property
    def _known_leader_addresses(self) -> tuple[Address, ...]:
        return () if self.node.is_leader else self.node.leader_endpoints

    async def request(self, request: Request) -> Response:
        """Answer a peer or an administrator. Raises `RaftFailed` when this node stops.

        A node whose disk has failed does not answer until then: a peer that gets an error would retry at once.
        """
        if self._has_stopped:
            raise RaftFailed("this node has left the metadata quorum")
        waiter: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._requests[waiter] = None
        self._events.put_nowait(RequestArrived(waiter, request))
        try:
            return await waiter
        finally:
            del self._requests[waiter]

    async def append(self, batches: bytes, epoch: int) -> int:
        """Append as leader of `epoch`; returns the last offset once it is committed and applied here.

        Raises `NotLeader`: then the records may still be committed, by another leader, or never. Raises `StorageError`
        when there is no room for them: then they are not there.
        """
        if self._failure is not None:
            raise RaftFailed("this node has left the metadata quorum: its disk has failed") from self._failure
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._appending[waiter] = None
        self._events.put_nowait(AppendRequested(waiter, epoch, batches))
        try:
            return await waiter
        finally:
            del self._appending[waiter]

    # -- events ---------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while True:
                await self._handle(await self._events.get())
        except (LogError, OSError) as error:
            _log.error("Disk failed, this node leaves the metadata quorum: %s", error)
            self._fail(error)

    async def _handle(self, event: Event) -> None:
        if isinstance(event, Synced):
            event = Synced(self._log.durable_offset)  # the log may have been truncated since
        self._is_deciding = isinstance(event, AppendRequested)
        self._refusal = None
        await self._perform(self.node.handle(event, self._clock.monotonic_ms()))
        self._log_fault()

    def _log_fault(self) -> None:
        fault = self.node.take_fault()
        if fault is not None and (times := self._log_limiter.times(str(fault).translate(_WITHOUT_DIGITS))):
            _log.warning("Metadata quorum: %s%s", fault, f" ({times} times)" if times > 1 else "")

    async def _perform(self, effects: list[Effect]) -> None:
        following: Event | None = None
        for effect in effects:
            following = await self._perform_one(effect) or following
        if following is not None:
            await self._perform(self.node.handle(following, self._clock.monotonic_ms()))
        else:
            self._set_timer()

    async def _perform_one(self, effect: Effect) -> Event | None:
        if isinstance(effect, Persist):
            await self._offload.run(partial(self._quorum_state.write, effect.election))
        elif isinstance(effect, Send):
            self._spawn(self._ask(effect))
        elif isinstance(effect, Answer):
            _resolve(effect.token, effect.response)
        elif isinstance(effect, AnswerWithRecords):
            records = await self._log.read(effect.offset, effect.offset_limit, effect.max_bytes)
            _resolve(effect.token, msgspec.structs.replace(effect.response, records=bytes(records)))
        elif isinstance(effect, AnswerWithSnapshot):
            await self._answer_with_snapshot(effect)
        elif isinstance(effect, Append):
            self._append(effect)
        elif isinstance(effect, AppendAnswered):
            self._note_appended(effect)
        elif isinstance(effect, Truncate):
            await self._log.truncate(effect.end_offset)
            self._applier.truncated(effect.end_offset, self._not_leader())
        elif isinstance(effect, LeaderChanged):
            self._applier.leader_changed(effect.leader_id, effect.epoch, is_here=self.node.is_leader)
        elif isinstance(effect, Left):
            self._left.set()
        else:
            return await self._perform_on_snapshots(effect)
        return None

    async def _perform_on_snapshots(self, effect: Effect) -> Event | None:
        if isinstance(effect, StoreSnapshotChunk):
            await self._log.store_chunk(effect.snapshot, effect.position, effect.data)
        elif isinstance(effect, DropPrefix):
            await self._log.drop_prefix(effect.snapshot)
        elif isinstance(effect, InstallSnapshot):
            try:
                voters = await self._log.install(effect.snapshot)
            except LogCorrupt:
                return SnapshotRejected(effect.snapshot)
            self._applier.truncated(0, self._not_leader())
            self._applier.add(effect)
            return SnapshotInstalled(effect.snapshot, voters)
        else:
            assert isinstance(effect, Committed | TakeSnapshot)
            self._applier.add(effect)
        return None

    async def _ask(self, effect: Send) -> None:
        try:
            response = await self._peers.ask(effect.to, effect.addresses, effect.request)
        except (OSError, TimeoutError) as error:
            _log.debug("No response from node %d to %s: %s", effect.to, type(effect.request).__name__, error)
            is_refused = error.errno == errno.ECONNREFUSED
            self._events.put_nowait(RequestFailed(effect.request_id, is_refused=is_refused))
        else:
            self._events.put_nowait(ResponseArrived(effect.request_id, response))

    async def _answer_with_snapshot(self, effect: AnswerWithSnapshot) -> None:
        response = effect.response
        data, size_bytes = await self._log.read_snapshot(
            response.snapshot, response.position, effect.max_bytes
        )
        if response.position > size_bytes:
            response = msgspec.structs.replace(response, error=ErrorCode.POSITION_OUT_OF_RANGE)
        _resolve(effect.token, msgspec.structs.replace(response, size_bytes=size_bytes, data=data))

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay_ms = self.node.next_deadline_ms - self._clock.monotonic_ms()
        if delay_ms != float("inf"):
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(delay_ms, 1) / 1000, self._events.put_nowait, Tick())

    # -- the log --------------------------------------------------------------------------------------

    def _append(self, effect: Append) -> None:
        try:
            self._log.append(effect.batches)
        except StorageError as error:
            if not (self._is_deciding and error.errno in _NO_ROOM):
                raise  # a leader that cannot write must resign
            self.node.undo_append(effect.base_offset)
            self._refusal = error
        else:
            self._sync()

    def _sync(self) -> None:
        """Sync the log, one sync at a time; later appends are in the next one."""
        if not self._is_syncing:
            self._is_syncing = True
            self._log.sync().add_done_callback(self._synced)

    def _synced(self, done: "asyncio.Future[None]") -> None:
        self._is_syncing = False
        if done.cancelled():
            return
        error = done.exception()
        if isinstance(error, Exception):
            self._fail(error)
            return
        if self._log.durable_offset < self._log.end_offset:
            self._sync()
        self._events.put_nowait(Synced(self._log.durable_offset))

    def _note_appended(self, effect: AppendAnswered) -> None:
        waiter = effect.token
        assert isinstance(waiter, asyncio.Future)
        if waiter.done():
            return  # the caller was cancelled
        if self._refusal is not None:
            waiter.set_exception(self._refusal)
        elif effect.error is ErrorCode.NONE:
            self._applier.answer_when_applied(waiter, effect.last_offset, self.node.epoch)
        else:
            waiter.set_exception(self._not_leader())

    def _not_leader(self) -> NotLeader:
        return NotLeader(self.node.leader_id, self.node.epoch)

    # -- the end --------------------------------------------------------------------------------------

    async def _apply(self) -> None:
        try:
            await self._applier.run()
        except (LogError, OSError) as error:
            _log.error("Cannot read committed metadata, this node leaves the metadata quorum: %s", error)
            self._fail(error)
        except Exception as error:  # noqa: BLE001  a node must not continue with old metadata
            _log.exception("Applying committed metadata failed, this node leaves the metadata quorum")
            self._fail(error)
        else:
            await self._watch()

    def _fail(self, error: Exception) -> None:
        if self._failure is None:
            self._failure = error
            self._end()
            self._on_failure(error)
            self._applier.end()

    async def _watch(self) -> None:
        """Pass committed records of the other nodes to the state machine."""
        node = self.node
        leader = None
        if node.leader_id is not None and self._known_leader_addresses:
            leader = node.leader_id, self._known_leader_addresses
        self._watcher = Watcher(
            self._cluster_id,
            node.me.node_id,
            node.voters,
            self._log.shape().position_at(self._applier.applied_offset),
            node.epoch,
            leader=leader,
            peers=self._peers,
            apply=self._machine.apply,
            leader_changed=self._machine.leader_changed,
            settings=self._settings,
            clock=self._clock,
        )
        await self._watcher.run()

    def _end(self) -> None:
        """Cancel the tasks and fail all waiters."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            if task not in (asyncio.current_task(), self._applying):
                task.cancel()
        for waiter in list(self._appending):
            if not waiter.done():
                waiter.set_exception(NotLeader(None, self.node.epoch))
        self._applier.forget_waiters()
        self._left.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _resolve(token: object, response: Response) -> None:
    assert isinstance(token, asyncio.Future)
    if not token.done():
        token.set_result(response)
