"""One pass over the partitions of a fetch, in request order, within its byte limits.

The first batch found is returned whole even if it is larger than the limits (KIP-74), so that the reader always makes
progress. Partitions are read in the order of the request: if a partition's records are on disk only, the pass waits for
them before it reads the next partition; otherwise partitions in memory would use up the limit and starve it.

A follower reads up to the end of the log, from the leader only; its fetch offset shows how far its log is durable. A
follower that is out of sync may be throttled (KIP-73). A consumer reads committed records, from the leader or (KIP-392)
from any replica; a leader with a replica in the consumer's rack redirects the consumer there.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from penstock.cluster.replica import Replica
from penstock.config.settings.network import FETCH_MAX_BYTES
from penstock.config.settings.replication import REPLICA_SELECTOR_CLASS
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import AbortedTransaction, EpochEndOffset, PartitionData
from penstock.server.context import RequestContext
from penstock.server.fetch_sessions import FetchPartition, TopicKey
from penstock.server.read_budget import SMALL_BYTES
from penstock.storage.errors import LogCorrupt, LogError
from penstock.storage.log.values import Cold, LogSlice
from penstock.storage.segment import transaction_index

_READ_COMMITTED = 1
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_HIDDEN = (
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)


def bytes_max(ctx: RequestContext, wanted_bytes: int) -> int:
    """The number of bytes, of those requested, that may be read for a request now."""
    broker = ctx.broker
    return min(
        wanted_bytes,
        broker.config[FETCH_MAX_BYTES],
        broker.memory.fetch_bytes_max(broker.clock.monotonic_ms()),
        ctx.peer.turns.bytes_max,
    )


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """The reader: a follower with its id and epoch, or a consumer with its isolation level and rack."""

    broker_id: int = -1
    broker_epoch: int = -1
    isolation_level: int = 0
    rack: str = ""
    reads_followers: bool = False
    knows_zstd: bool = True

    @property
    def is_follower(self) -> bool:
        return self.broker_id >= 0


class FetchRead:
    """The results of the partitions so far, and the bytes left to return."""

    __slots__ = (
        "_available",
        "_bytes_left",
        "_bytes_max",
        "_ctx",
        "_hidden_at_first",
        "_is_first",
        "_read_committed",
        "_refused",
        "_wanted",
        "aborted",
        "has_begun",
        "reader",
        "results",
        "size",
    )

    def __init__(
        self,
        ctx: RequestContext,
        wanted: Sequence[FetchPartition],
        bytes_max: int,
        reader: Reader,
        refused: Mapping[TopicKey, ErrorCode] | None = None,
    ) -> None:
        """Topics that are `refused` are not read, however long the request waits."""
        self._ctx = ctx
        self._refused = refused or {}
        self.reader = reader
        self._is_first = True
        self._wanted = wanted
        self._bytes_max = bytes_max
        self._bytes_left = bytes_max
        self._read_committed = reader.isolation_level == _READ_COMMITTED and not reader.is_follower
        self.size = 0
        """Bytes of records that were read."""
        self._available = 0  # `size` plus the bytes that the limits of the request excluded
        self._hidden_at_first: int | None = None
        self.has_begun = False
        self.results: list[PartitionData] = []
        """For each of the partitions, in request order, as far as they have been read."""
        self.aborted: dict[int, Sequence[transaction_index.AbortedTransaction]] = {}
        """The aborted transactions, as of when the records were read, by index in `results`."""

    @property
    def is_complete(self) -> bool:
        return len(self.results) == len(self._wanted)

    def from_memory(self) -> None:
        """Read from the start without waiting, up to the first partition that needs the disk."""
        self.forget()
        self.has_begun = True
        self._read_on()

    async def from_disk(self) -> None:
        """Read the partitions that `from_memory` left."""
        while not self.is_complete:
            self._take(await self._read_cold(self._wanted[len(self.results)]))
            self._read_on()

    def forget(self) -> None:
        """Drop the results."""
        self.has_begun = False
        if self.results:
            self._is_first = False
            self.results = []
            self.aborted = {}
        self.size = self._available = 0
        self._bytes_left = self._bytes_max

    def is_enough(self, min_bytes: int) -> bool:
        """Whether to respond now: there are enough bytes, or an error or redirection to report.

        Bytes that were not read, because only whole batches within the request's limits are, count too: waiting would
        not change that. As in Kafka, partitions that were unknown or denied from the start do not count as errors to
        report; otherwise a client that keeps requesting one would poll without a pause.
        """
        codes = [r.error_code for r in self.results]
        hidden = sum(1 for c in codes if c in _HIDDEN)
        if self._hidden_at_first is None:
            self._hidden_at_first = hidden
        return (
            self._available >= min(min_bytes, self._bytes_max)
            or hidden == len(codes)
            or hidden > self._hidden_at_first
            or any(c for c in codes if c not in _HIDDEN)
            or any(r.diverging_epoch.epoch >= 0 or r.preferred_read_replica >= 0 for r in self.results)
        )

    def watch(self, reader: "asyncio.Future[None]") -> list[Replica]:
        """Resolve `reader` on any change of these partitions. Returns the replicas to unwatch."""
        found = [replica for replica in map(self._leader, self._wanted) if isinstance(replica, Replica)]
        for replica in found:
            replica.watch(reader, is_follower=self.reader.is_follower)
        return found

    def note_sent(self, wanted: FetchPartition, size_bytes: int) -> None:
        """Count the bytes sent from a partition, for followers or for consumers."""
        replica = self._leader(wanted)
        if not isinstance(replica, Replica):
            return
        if self.reader.is_follower:
            self._ctx.broker.replicas.leader_throttle.record(replica, size_bytes)
        else:
            replica.bytes_out += size_bytes

    def _read_on(self) -> None:
        for wanted in self._wanted[len(self.results) :]:
            result = self._read_one(wanted)
            if result is None:
                return
            self._take(result)

    def _take(self, result: PartitionData) -> None:
        size = len(result.records or b"")
        if size >= SMALL_BYTES:
            self._ctx.broker.memory.read_budget.spend(size)
        self.size += size
        self._available += size
        self._bytes_left = max(0, self._bytes_left - size)
        self.results.append(result)

    def _leader(self, wanted: FetchPartition) -> Replica | ErrorCode:
        replicas = self._ctx.broker.replicas
        any_replica = self.reader.reads_followers
        if isinstance(wanted.topic, bytes):
            return replicas.leader_by_id(wanted.topic, wanted.index, or_follower=any_replica)
        return replicas.leader_of(wanted.topic, wanted.index, or_follower=any_replica)

    def _read_one(self, wanted: FetchPartition) -> PartitionData | None:
        """The result of one partition from memory; None when its records are on disk only."""
        if self._refused and wanted.topic in self._refused:
            return _failed(wanted.index, self._refused[wanted.topic])
        leader = self._leader(wanted)
        if not isinstance(leader, Replica):
            return _failed(wanted.index, leader)
        refusal = self._refuse(leader, wanted) or self._note_reader(leader, wanted)
        if refusal is not None:
            return refusal
        limit = self._limit(leader)
        # Up to the end of the log the offset exists, but is not readable yet.
        if wanted.fetch_offset >= limit or self._is_held_back(leader):
            return self._found(leader, wanted, None)
        try:
            found = leader.log.read(
                wanted.fetch_offset,
                min(wanted.partition_max_bytes, self._bytes_left),
                offset_limit=limit,
                at_least_one=self.size == 0,
                check_crc=self.reader.is_follower,  # corruption must not spread; consumers check the CRC themselves
            )
        except (LogError, OSError) as error:
            return _failed(wanted.index, _code(leader, error))
        if isinstance(found, Cold):
            return None
        self._note_cut(wanted, found, limit)
        return self._found(leader, wanted, found)

    async def _read_cold(self, wanted: FetchPartition) -> PartitionData:
        leader = self._leader(wanted)
        if not isinstance(leader, Replica):
            return _failed(wanted.index, leader)
        limit, leader_epoch, generation = self._limit(leader), leader.leader_epoch, leader.log.generation
        try:
            found = await leader.log.read_cold(
                wanted.fetch_offset,
                min(wanted.partition_max_bytes, self._bytes_left),
                offset_limit=limit,
                at_least_one=self.size == 0,
            )
        except (LogError, OSError) as error:
            return _failed(wanted.index, _code(leader, error))
        if (leader.leader_epoch, leader.log.generation) != (leader_epoch, generation):
            # The log may have been truncated and written to since: records below the limit may not be committed.
            return _failed(wanted.index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._note_cut(wanted, found, limit)
        return self._found(leader, wanted, found)

    def _note_cut(self, wanted: FetchPartition, found: LogSlice, limit: int) -> None:
        """Count available bytes that were not read: the next whole batch is too large, or in the next segment."""
        if found.next_offset < limit:
            room = min(wanted.partition_max_bytes, self._bytes_left)
            self._available += max(0, room - len(found.records))

    def _note_reader(self, leader: Replica, wanted: FetchPartition) -> PartitionData | None:
        """Record the fetch offset of a follower, and send a consumer to a replica in its rack."""
        reader = self.reader
        if reader.is_follower:
            if self._is_first:
                code = leader.follower_fetched(reader.broker_id, reader.broker_epoch, wanted.fetch_offset)
                return _failed(wanted.index, code) if code else None
        elif reader.rack and leader.is_leader:
            nearer = self._nearer(leader, wanted.fetch_offset)
            if nearer is not None:
                return msgspec.structs.replace(
                    self._found(leader, wanted, None), preferred_read_replica=nearer
                )
        return None

    def _is_held_back(self, leader: Replica) -> bool:
        throttle = self._ctx.broker.replicas.leader_throttle
        return self.reader.is_follower and throttle.holds_back(leader, self.reader.broker_id)

    def _nearer(self, leader: Replica, offset: int) -> int | None:
        broker = self._ctx.broker
        if broker.config[REPLICA_SELECTOR_CLASS] != _RACK_AWARE:
            return None
        brokers = broker.controller.image.brokers
        here = brokers.get(broker.node_id)
        if here is None or here.rack == self.reader.rack:
            return None
        for each in leader.followers.reaching(offset) if leader.followers is not None else ():
            if each in brokers and brokers[each].is_active and brokers[each].rack == self.reader.rack:
                return each
        return None

    def _limit(self, leader: Replica) -> int:
        if self.reader.is_follower:
            return leader.log.log_end_offset
        return leader.last_stable_offset if self._read_committed else leader.high_watermark

    def _refuse(self, leader: Replica, wanted: FetchPartition) -> PartitionData | None:
        log = leader.log
        code = leader.check_epoch(wanted.current_leader_epoch)
        if code:
            return _failed(wanted.index, code)
        if log.config.compression_type == "zstd" and not self.reader.knows_zstd:
            return _failed(wanted.index, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        diverging = EpochEndOffset()
        if wanted.last_fetched_epoch >= 0:  # KIP-595: does the client's log still follow from ours?
            epoch, end_offset = log.epoch_end_offset(wanted.last_fetched_epoch)
            if end_offset < 0:
                return _failed(wanted.index, ErrorCode.OFFSET_OUT_OF_RANGE)
            if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
                diverging = EpochEndOffset(epoch=epoch, end_offset=end_offset)
        is_diverging = diverging.epoch >= 0
        if wanted.fetch_offset < log.log_start_offset or (
            wanted.fetch_offset > log.log_end_offset and not is_diverging
        ):
            return _failed(wanted.index, ErrorCode.OFFSET_OUT_OF_RANGE)
        return self._found(leader, wanted, None, diverging) if is_diverging else None

    def _found(
        self,
        leader: Replica,
        wanted: FetchPartition,
        found: LogSlice | None,
        diverging: EpochEndOffset = EpochEndOffset(),  # noqa: B008  frozen
    ) -> PartitionData:
        aborted: list[AbortedTransaction] | None = None
        if self._read_committed:
            aborted = []
            if found and (known := leader.log.aborted_transactions(wanted.fetch_offset, found.next_offset)):
                self.aborted[len(self.results)] = known
                aborted = [
                    AbortedTransaction(producer_id=t.producer_id, first_offset=t.first_offset) for t in known
                ]
        return PartitionData(
            partition_index=wanted.index,
            error_code=0,
            high_watermark=leader.high_watermark,
            last_stable_offset=leader.last_stable_offset,
            log_start_offset=leader.log.log_start_offset,
            diverging_epoch=diverging,
            aborted_transactions=aborted,
            records=found.records if found else b"",
        )


def _failed(index: int, code: ErrorCode) -> PartitionData:
    # As in Kafka: null if the partition was looked at, an empty list if it was not.
    aborted: list[AbortedTransaction] | None = [] if code in _HIDDEN else None
    return PartitionData(
        partition_index=index, error_code=code, high_watermark=-1, aborted_transactions=aborted, records=b""
    )


def _code(leader: Replica, error: LogError | OSError) -> ErrorCode:
    """Return a retriable code where another replica can repair the damage."""
    if isinstance(error, LogCorrupt) and leader.is_replicated:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return error.code if isinstance(error, LogError) else ErrorCode.KAFKA_STORAGE_ERROR
