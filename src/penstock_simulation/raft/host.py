"""A machine with one node of the quorum: it performs the node's effects, crashes, and starts again."""

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, assert_never

import msgspec

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
from penstock.cluster.raft.events import Event, SnapshotInstalled, SnapshotTaken, Synced, Tick
from penstock.cluster.raft.messages import Response
from penstock.cluster.raft.node import RaftNode
from penstock.cluster.raft.records import voter_sets_in, voters_batch
from penstock.cluster.raft.values import Address, Election, LogPosition, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import VoterSet
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import iter_batches_strict
from penstock_simulation.raft.memory_log import MemoryLog
from penstock_simulation.seeds import randomness
from penstock_simulation.violation import Violation

if TYPE_CHECKING:
    from penstock_simulation.raft.world import RaftWorld

_WALL_MS = 1_800_000_000_000  # January 2027
_DIGEST_BYTES = 4
_TICKS_PER_SECOND_MAX = 200


class ReplyTo(NamedTuple):
    """The token of a request: the callback for its answer."""

    answer: Callable[[Response], None]


class RaftHost:
    def __init__(
        self, world: "RaftWorld", key: ReplicaKey, settings: RaftSettings, initial: VoterSet
    ) -> None:
        self.world = world
        self.key = key
        self.name = f"node {key.node_id}"
        self.settings = settings
        self.initial_voters = initial
        self.log = MemoryLog()
        self.node: RaftNode | None = None
        self.incarnation = 0
        self.clock_rate = 1.0
        self.sync_ms_max = 2.0
        self.applied_offset = 0
        self.digest = 0
        self.led_epoch = -1
        self.waiting: dict[int, tuple[int, object]] = {}
        """By last offset: the epoch and token of each append that is not committed yet."""
        self._is_syncing = False
        self._tick_at_ms = float("inf")
        self._tick_count = 0
        self._partial: bytearray = bytearray()

    # -- start and stop -------------------------------------------------------------------------------

    def local_ms(self) -> float:
        """Return the time of this machine's clock, which may run fast or slow."""
        return self.world.timeline.now_ms * self.clock_rate

    def start(self) -> None:
        assert self.node is None
        self.incarnation += 1
        self._is_syncing = False
        self._tick_at_ms = float("inf")
        self.log.recover()
        shape = self.log.shape()
        self.applied_offset, self.digest = 0, 0
        self.node = RaftNode(
            self.key,
            self.world.cluster_id,
            election=self.log.election or Election(),
            log=shape,
            voter_history=self.log.voter_history(self.initial_voters, _voters_in_snapshot),
            settings=self.settings,
            randomness=randomness(self.world.random.getrandbits(64), self.name),
            stamp_ms=lambda: _WALL_MS + int(self.local_ms()),
            bootstrap=self.world.bootstrap_for(self),
        )
        latest = shape.latest_snapshot
        if latest is not None:
            self._load_snapshot(latest, self.log.content.snapshots[latest])
        self._perform(self.node.start(self.local_ms()))

    def stop(self) -> None:
        """Crash: unsynced changes may be lost."""
        self.node = None
        self.waiting.clear()
        self.log.crash(self.world.random)

    def latest_voters(self) -> VoterSet:
        """Return the voters by this machine's log, whether it runs or not."""
        if self.node is not None:
            return self.node.voters
        return self.log.voter_history(self.initial_voters, _voters_in_snapshot).latest

    def wipe(self, key: ReplicaKey) -> None:
        """Replace the disk by an empty one."""
        assert self.node is None
        self.key = key
        self.log = MemoryLog()
        self.initial_voters = VoterSet()

    def handle(self, event: Event) -> None:
        if self.node is not None:
            self._perform(self.node.handle(event, self.local_ms()))

    # -- effects --------------------------------------------------------------------------------------

    def _perform(self, effects: list[Effect]) -> None:
        """Perform effects. One may lead to an event, which is handled after all of them."""
        node = self.node
        following: Event | None = None
        for effect in effects:
            if self.node is not node:
                return
            following = self._perform_one(effect) or following
        if self.node is not node or node is None:
            return
        self._check_leader(node)
        if following is not None:
            self.handle(following)
        else:
            self._schedule_tick(node)

    def _perform_one(self, effect: Effect) -> Event | None:
        match effect:
            case Persist():
                self.world.persist(self, effect.election)
            case Send():
                self.world.send(self, effect)
            case Answer():
                self._answer(effect.token, effect.response)
            case AnswerWithRecords():
                records = self.log.read(effect.offset, effect.offset_limit, effect.max_bytes)
                self._answer(effect.token, msgspec.structs.replace(effect.response, records=records))
            case AnswerWithSnapshot():
                self._answer_with_snapshot(effect)
            case Append():
                self._append(effect)
            case AppendAnswered():
                self._on_append_answered(effect)
            case Truncate():
                self.log.truncate(effect.end_offset)
                self._sync_soon()
            case Committed():
                self._apply(effect.offset)
            case StoreSnapshotChunk():
                if effect.position == 0:
                    self._partial = bytearray()
                assert len(self._partial) == effect.position
                self._partial += effect.data
            case InstallSnapshot():
                data = bytes(self._partial)
                self.log.install(effect.snapshot, data)
                self._load_snapshot(effect.snapshot, data)
                return SnapshotInstalled(effect.snapshot, _voters_in_snapshot(data))
            case TakeSnapshot():
                return self._take_snapshot(effect.snapshot)
            case DropPrefix():
                self.log.drop_prefix(effect.snapshot)
                self._sync_soon()
            case LeaderChanged() | Left():
                pass
            case _:
                assert_never(effect)
        return None

    def _answer(self, token: object, response: Response) -> None:
        if isinstance(token, ReplyTo):
            token.answer(response)

    def _answer_with_snapshot(self, effect: AnswerWithSnapshot) -> None:
        response = effect.response
        data = self.log.content.snapshots[response.snapshot]
        part = data[response.position : response.position + effect.max_bytes]
        self._answer(effect.token, msgspec.structs.replace(response, size_bytes=len(data), data=part))

    # -- the log --------------------------------------------------------------------------------------

    def _append(self, effect: Append) -> None:
        content = self.log.content
        previous_epoch = content.batches[-1].epoch if content.batches else self._snapshot_epoch()
        for pos, header in iter_batches_strict(effect.batches):
            data = effect.batches[pos : pos + header.size_bytes]
            self.world.checker.on_append(
                self.name,
                epoch=header.leader_epoch,
                base_offset=header.base_offset,
                data=data,
                previous_epoch=previous_epoch,
            )
            previous_epoch = header.leader_epoch
            for offset, voters in voter_sets_in(data, 0, header):
                self._check_voters(header.leader_epoch, offset, voters)
        self.log.append(effect.batches)
        self._sync_soon()

    def _snapshot_epoch(self) -> int:
        snapshots = self.log.content.snapshots
        return max(snapshots, key=lambda each: each.offset).epoch if snapshots else 0

    def _sync_soon(self) -> None:
        if self._is_syncing or self.node is None:
            return
        self._is_syncing = True
        change_count, incarnation = self.log.change_count, self.incarnation
        delay_ms = self.world.random.uniform(0.05, self.sync_ms_max)
        self.world.timeline.after(delay_ms, lambda: self._synced(incarnation, change_count))

    def _synced(self, incarnation: int, change_count: int) -> None:
        if self.node is None or self.incarnation != incarnation:
            return
        self._is_syncing = False
        if self.world.sync_fails(self):
            self.world.crash(self)  # the state of the disk is unknown: the node gives up
            return
        self.log.sync(change_count)
        if self.log.change_count > change_count:
            self._sync_soon()
        self.handle(Synced(self.log.durable_end_offset))

    # -- the state machine ----------------------------------------------------------------------------

    def _apply(self, offset: int) -> None:
        checker = self.world.checker
        for batch in self.log.batches_from(self.applied_offset):
            if batch.next_offset > offset:
                break
            checker.on_commit(
                self.name,
                epoch=batch.epoch,
                base_offset=batch.base_offset,
                next_offset=batch.next_offset,
                data=batch.data,
            )
            self.digest = zlib.crc32(batch.data, self.digest)
            self.applied_offset = batch.next_offset
            checker.on_state(self.name, self.applied_offset, self.digest)
        assert self.applied_offset == offset, f"{self.name} cannot apply up to {offset}"
        self._acknowledge_committed(offset)

    def _acknowledge_committed(self, offset: int) -> None:
        node = self.node
        for last_offset in [each for each in self.waiting if each < offset]:
            epoch, token = self.waiting.pop(last_offset)
            if node is not None and node.is_leader and node.epoch == epoch:
                self.world.acknowledged(token, last_offset)

    def _on_append_answered(self, effect: AppendAnswered) -> None:
        if effect.error is ErrorCode.NONE and self.node is not None:
            self.waiting[effect.last_offset] = (self.node.epoch, effect.token)

    def _take_snapshot(self, snapshot: LogPosition) -> Event | None:
        assert self.node is not None
        if self.applied_offset != snapshot.offset:
            return SnapshotTaken(LogPosition(0, 0))
        voters = self.node.voters_at(snapshot.offset) or VoterSet()
        data = self.digest.to_bytes(_DIGEST_BYTES) + voters_batch(voters, offset=0, epoch=0, timestamp=0)
        self.log.write_snapshot(snapshot, data)
        return SnapshotTaken(snapshot)

    def _load_snapshot(self, snapshot: LogPosition, data: bytes) -> None:
        self.digest = int.from_bytes(data[:_DIGEST_BYTES])
        self.applied_offset = snapshot.offset
        self.world.checker.on_state(self.name, snapshot.offset, self.digest)

    # -- checks and timers ----------------------------------------------------------------------------

    def _check_voters(self, epoch: int, offset: int, voters: VoterSet) -> None:
        if self.node is None or not self.node.is_leader or epoch != self.node.epoch:
            return  # followers copy their leader
        history = self.log.voter_history(self.initial_voters, _voters_in_snapshot)
        self.world.checker.on_voters_change(self.name, offset, history.latest_offset, history.latest, voters)

    def _check_leader(self, node: RaftNode) -> None:
        if not node.is_leader or node.epoch == self.led_epoch:
            return
        self.led_epoch = node.epoch
        checker = self.world.checker
        checker.on_leader(self.name, self.key, node.epoch)
        log = {batch.base_offset: (batch.epoch, batch.data) for batch in self.log.content.batches}
        checker.check_leader_log(self.name, node.epoch, log, self.log.content.start_offset)

    def _schedule_tick(self, node: RaftNode) -> None:
        deadline_ms = node.next_deadline_ms / self.clock_rate
        timeline = self.world.timeline
        if deadline_ms == float("inf") or (timeline.now_ms < self._tick_at_ms <= deadline_ms):
            return
        at_ms = max(deadline_ms, timeline.now_ms + 0.01)
        self._tick_at_ms = at_ms
        incarnation = self.incarnation
        timeline.at(at_ms, lambda: self._tick(incarnation, at_ms))

    def _tick(self, incarnation: int, at_ms: float) -> None:
        if self.incarnation == incarnation and self._tick_at_ms == at_ms:
            self._tick_at_ms = float("inf")
            self._tick_count += 1
            if self._tick_count > _TICKS_PER_SECOND_MAX * (1 + at_ms / 1000):
                raise Violation("liveness", f"{self.name} sets timers all the time")
            self.handle(Tick())


def _voters_in_snapshot(data: bytes) -> VoterSet | None:
    batch = data[_DIGEST_BYTES:]
    for pos, header in iter_batches_strict(batch):
        for _, voters in voter_sets_in(batch, pos, header):
            return voters
    return None


def address_of(node_id: int) -> Address:
    return Address("PLAINTEXT", "sim", node_id)
