"""Incremental fetch sessions (KIP-227): a consumer names its partitions once, then only changes.

No I/O: requests and per-partition results in, partitions to read and to include in the response out. A session is named
by an id and counts its requests by an epoch:

    epoch -1   fetch without a session; a named session is closed
    epoch  0   a full fetch that asks for a new session; a named old one is closed
    epoch  n   an incremental fetch: the n-th of this session, else INVALID_FETCH_SESSION_EPOCH

An incremental response includes only partitions with records, an error, or changed offsets.
"""

import random
from collections.abc import Iterable

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import FetchRequest, PartitionData

SESSIONLESS_EPOCH = -1
INITIAL_EPOCH = 0
_EPOCH_MAX = 2**31 - 1
_EVICTION_AGE_MS = 120_000  # Kafka's min.incremental.fetch.session.eviction.ms

TopicKey = bytes | str  # the topic's id from v13 on, its name before


class FetchPartition(msgspec.Struct, kw_only=True, gc=False):
    """The position of a client in one partition, and the offsets last sent to it."""

    topic: TopicKey
    index: int
    fetch_offset: int
    partition_max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int
    sent_high_watermark: int = -1
    sent_log_start: int = -1

    @property
    def key(self) -> tuple[TopicKey, int]:
        return (self.topic, self.index)


class Session:
    """The partitions of one client, in the order in which they are read next."""

    __slots__ = ("epoch", "id", "last_used_ms", "partitions", "uses_topic_ids")

    def __init__(self, session_id: int, now_ms: float, partitions: Iterable[FetchPartition]) -> None:
        self.id = session_id
        self.epoch = 1
        self.last_used_ms = now_ms
        self.partitions = {p.key: p for p in partitions}
        self.uses_topic_ids = any(isinstance(p.topic, bytes) for p in self.partitions.values())

    def update(self, changed: Iterable[FetchPartition], forgotten: Iterable[tuple[TopicKey, int]]) -> None:
        for partition in changed:
            known = self.partitions.get(partition.key)
            # A follower of a new epoch may have dropped the last response, which was from the previous epoch.
            if known is not None and known.current_leader_epoch == partition.current_leader_epoch:
                partition.sent_high_watermark = known.sent_high_watermark
                partition.sent_log_start = known.sent_log_start
            self.partitions[partition.key] = partition
        for key in forgotten:
            self.partitions.pop(key, None)


class FetchPlan(msgspec.Struct, kw_only=True):
    """The partitions to read for one request, and how to answer it."""

    error_code: ErrorCode = ErrorCode.NONE
    session: Session | None = None
    partitions: list[FetchPartition]
    is_incremental: bool = False

    @property
    def session_id(self) -> int:
        return self.session.id if self.session is not None else 0

    def must_include(self, partition: FetchPartition, result: PartitionData) -> bool:
        """Whether the response includes this partition. Records the offsets that it sends."""
        has_records = bool(result.records)
        redirects = result.diverging_epoch.epoch >= 0 or result.preferred_read_replica >= 0
        changed = (
            has_records
            or redirects
            or result.error_code != 0
            or partition.sent_high_watermark != result.high_watermark
            or partition.sent_log_start != result.log_start_offset
        )
        # After an error the next healthy result is sent even when its offsets did not move. So it is for a follower
        # that has to truncate its log first: it could not adopt the high watermark.
        is_taken_over = result.error_code == 0 and not redirects
        partition.sent_high_watermark = result.high_watermark if is_taken_over else -1
        partition.sent_log_start = result.log_start_offset
        if self.session is not None and has_records:
            # A partition that returned records moves to the end, so that the byte limit starves none.
            known = self.session.partitions.pop(partition.key, None)
            if known is not None:
                self.session.partitions[partition.key] = known
        return changed or not self.is_incremental


class FetchSessions:
    """All sessions of a broker, bounded by `slots_max`."""

    def __init__(self, slots_max: int, randomness: random.Random) -> None:
        self._slots_max = slots_max
        self._random = randomness
        self._sessions: dict[int, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def plan(self, request: FetchRequest, version: int, now_ms: float) -> FetchPlan:
        wanted = _partitions_of(request, version)
        session_id, epoch = request.session_id, request.session_epoch
        if epoch in (SESSIONLESS_EPOCH, INITIAL_EPOCH):
            self._sessions.pop(session_id, None)
            session = self._create(wanted, now_ms) if epoch == INITIAL_EPOCH and wanted else None
            return FetchPlan(session=session, partitions=wanted)
        return self._plan_incremental(request, version, wanted, now_ms)

    def _plan_incremental(
        self, request: FetchRequest, version: int, wanted: list[FetchPartition], now_ms: float
    ) -> FetchPlan:
        session = self._sessions.get(request.session_id)
        if session is None:
            return FetchPlan(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, partitions=[])
        if session.epoch != request.session_epoch:
            return FetchPlan(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, partitions=[])
        if session.partitions and session.uses_topic_ids != (version >= 13):
            return FetchPlan(error_code=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, partitions=[])
        session.uses_topic_ids = version >= 13
        session.update(wanted, _forgotten_of(request, version))
        session.epoch = 1 if session.epoch == _EPOCH_MAX else session.epoch + 1
        session.last_used_ms = now_ms
        if not session.partitions:  # nothing left to fetch: the client has in effect closed it
            del self._sessions[session.id]
            return FetchPlan(partitions=[])
        return FetchPlan(session=session, partitions=list(session.partitions.values()), is_incremental=True)

    def _create(self, partitions: list[FetchPartition], now_ms: float) -> Session | None:
        if len(self._sessions) >= self._slots_max and not self._evict(now_ms):
            return None
        session_id = self._random.randint(1, 2**31 - 1)
        while session_id in self._sessions:
            session_id = self._random.randint(1, 2**31 - 1)
        session = Session(session_id, now_ms, partitions)
        self._sessions[session_id] = session
        return session

    def _evict(self, now_ms: float) -> bool:
        oldest = min(self._sessions.values(), key=lambda s: s.last_used_ms, default=None)
        if oldest is None or now_ms - oldest.last_used_ms < _EVICTION_AGE_MS:
            return False
        del self._sessions[oldest.id]
        return True


def _partitions_of(request: FetchRequest, version: int) -> list[FetchPartition]:
    return [
        FetchPartition(
            topic=topic.topic_id if version >= 13 else topic.topic,
            index=p.partition,
            fetch_offset=p.fetch_offset,
            partition_max_bytes=p.partition_max_bytes,
            current_leader_epoch=p.current_leader_epoch,
            last_fetched_epoch=p.last_fetched_epoch,
            log_start_offset=p.log_start_offset,
        )
        for topic in request.topics
        for p in topic.partitions
    ]


def _forgotten_of(request: FetchRequest, version: int) -> list[tuple[TopicKey, int]]:
    return [
        (topic.topic_id if version >= 13 else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
