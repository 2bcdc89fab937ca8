"""Reads a range of offsets of one partition.

The next Fetch is sent before the last response is decoded, so that broker and client work at the same time. Reading
retries while a broker restarts, a leader moves or responses are empty, and continues after the last records received,
so that none comes twice.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from penstock.arrow.decoder import SCHEMA, ArrowDecoder
from penstock.arrow.ranges import DataLoss, OffsetRange, topic_id_text
from penstock.client.batches import next_offset_after, wanted_batches
from penstock.client.blocking.client import EARLIEST, BlockingClient, Leader, RetryTimer, UnknownPartition
from penstock.client.blocking.connection import BlockingConnection
from penstock.client.connection import Disconnected
from penstock.client.errors import BrokerError, Retry, TimedOut, error_name
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import fetch
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.wire import Buffer

# Compaction may have removed all records up to the end. One empty response may have other reasons, such as a quota.
_EMPTY_RESPONSES_MAX: Final = 3
# After this many the topic counts as deleted; before, a broker that just started may not know it yet.
_ABSENT_RESPONSES_MAX: Final = 5

_FETCH_BYTES_MIN: Final = 256 * 1024
_RECORD_BYTES_LARGE: Final = 16 * 1024

_log = logging.getLogger(__name__)


class Fetched(NamedTuple):
    """Record batches with all records from `first` to `next_offset` (exclusive), and perhaps some before."""

    records: Buffer
    first: int
    next_offset: int
    aborted: Sequence[fetch.AbortedTransaction] | None


class _Compacted(Retry):
    """The leader has no records up to the wanted end, but its log continues after it."""


class _Truncated(Retry):
    """The leader's log ends before the wanted end, which existed before."""


class _Recreated(Retry):
    """The topic has another id than the one that was planned."""


class _OutOfRange(Exception):
    """The partition does not have the requested offset."""


def read_range(
    cluster: BlockingClient,
    wanted: OffsetRange,
    *,
    schema: pa.Schema = SCHEMA,
    fails_on_data_loss: bool,
    on_fetched: Callable[[Fetched], None] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the columns of `schema`, which are some of those of `SCHEMA_WITH_HEADERS`."""
    decoder = ArrowDecoder(wanted.topic, wanted.partition, schema)
    reached = wanted.start
    try:
        for fetched in fetch_range(cluster, wanted, fails_on_data_loss=fails_on_data_loss):
            reached = fetched.first
            if on_fetched is not None:
                on_fetched(fetched)
            batches = wanted_batches(fetched.records, reached, wanted.end, fetched.aborted)
            yield from decoder.decode(fetched.records, batches, reached, wanted.end)
            reached = fetched.next_offset
    except CorruptRecords as error:
        raise CorruptRecords(
            f"{wanted.tp} cannot be read from offset {reached} on: {error}. Start the query after it, or "
            f"restore the partition's log"
        ) from error


def fetch_range(
    cluster: BlockingClient, wanted: OffsetRange, *, fails_on_data_loss: bool
) -> Iterator[Fetched]:
    """Yield the responses of brokers, in order and without gaps, until the range is complete."""
    tp = wanted.tp
    offset = wanted.start
    timer = cluster.retry_timer(f"reading {tp} from offset {offset} to {wanted.end}")
    empty = absent = 0
    while offset < wanted.end:
        try:
            leader = cluster.leader(tp)
            _check_topic_id(wanted, leader)
            with cluster.connection(leader.address) as connection:
                for fetched in _pipelined(connection, leader, wanted, offset, cluster.settings):
                    timer.reset()
                    empty = absent = 0
                    yield fetched
                    offset = fetched.next_offset
        except (Retry, Disconnected) as failure:
            cluster.forget_leader(tp)
            empty = empty + 1 if isinstance(failure, _Compacted) else 0
            absent = absent + 1 if isinstance(failure, (UnknownPartition, _Recreated)) else 0
            if empty == _EMPTY_RESPONSES_MAX:
                return
            try:
                _retry_or_fail(timer, failure, is_gone=absent == _ABSENT_RESPONSES_MAX)
            except (DataLoss, TimedOut):
                # A broker that cannot be reached has lost nothing: that is an error with either option.
                if fails_on_data_loss or not isinstance(failure, (UnknownPartition, _Recreated, _Truncated)):
                    raise
                _log.warning(
                    "Skipped lost records: %s. partition=%s from_offset=%d to_offset=%d",
                    failure,
                    tp,
                    offset,
                    wanted.end,
                )
                return
        except _OutOfRange as failure:
            offset = _skip_lost_records(
                cluster, wanted, offset, failure, fails_on_data_loss=fails_on_data_loss
            )


def _check_topic_id(wanted: OffsetRange, leader: Leader) -> None:
    """Raise `_Recreated` for another topic of the same name; the cached metadata may also be an old one."""
    found = topic_id_text(leader.topic_id)
    if wanted.topic_id and found and found != wanted.topic_id:
        raise _Recreated(
            f"topic {wanted.topic} was deleted and created again (its id was {wanted.topic_id} and is {found} now)"
        )


def _retry_or_fail(timer: RetryTimer, failure: Exception, *, is_gone: bool) -> None:
    if is_gone:
        raise DataLoss([str(failure)]) from failure
    timer.sleep_after(failure)


def _pipelined(
    connection: BlockingConnection, leader: Leader, wanted: OffsetRange, offset: int, settings: ClientSettings
) -> Iterator[Fetched]:
    version = connection.version(fetch.API_KEY)
    request = _request(version, leader, wanted, offset, settings)
    connection.send(fetch.API_KEY, version, request)
    while True:
        fetched = _records_of(connection.receive(), wanted, offset, settings)
        is_last = fetched.next_offset >= wanted.end
        if not is_last:
            request = _request(version, leader, wanted, fetched.next_offset, settings)
            connection.send(fetch.API_KEY, version, request)
        yield fetched
        if is_last:
            return
        offset = fetched.next_offset


def _request(
    version: int, leader: Leader, wanted: OffsetRange, offset: int, settings: ClientSettings
) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=wanted.partition,
        current_leader_epoch=leader.epoch,
        fetch_offset=offset,
        partition_max_bytes=_bytes_max(wanted.end - offset, settings),
    )
    topic = (
        fetch.FetchTopic(topic_id=leader.topic_id, partitions=[partition])
        if version >= 13
        else fetch.FetchTopic(topic=wanted.topic, partitions=[partition])
    )
    return fetch.FetchRequest(
        max_wait_ms=settings.fetch_max_wait_ms,
        min_bytes=settings.fetch_min_bytes,
        max_bytes=settings.fetch_max_bytes,
        isolation_level=int(settings.reads_committed_only),
        topics=[topic],
    )


def _bytes_max(records: int, settings: ClientSettings) -> int:
    """Ask for less where few records are left: a whole response is sent even if only its first record is wanted."""
    return min(settings.fetch_partition_max_bytes, max(_FETCH_BYTES_MIN, records * _RECORD_BYTES_LARGE))


def _records_of(
    response: fetch.FetchResponse, wanted: OffsetRange, offset: int, settings: ClientSettings
) -> Fetched:
    data = response.responses[0].partitions[0] if response.responses else None
    code = response.error_code or (data.error_code if data else 0)
    if code == ErrorCode.OFFSET_OUT_OF_RANGE:
        raise _OutOfRange(f"{wanted.tp} no longer has offset {offset}")
    if code and is_retriable(code):
        raise Retry(f"Fetch of {wanted.tp} failed with {error_name(code)}")
    if code:
        raise BrokerError(code, f"reading {wanted.tp} at offset {offset}")
    records = data.records if data else None
    next_offset = next_offset_after(records) if records else None
    if data is None or records is None or next_offset is None or next_offset <= offset:
        nothing = f"{wanted.tp} has no records at offset {offset}, but should have them up to {wanted.end}"
        if data is None or records or response.throttle_time_ms:
            raise Retry(nothing)
        end = data.last_stable_offset if settings.reads_committed_only else data.high_watermark
        raise _Compacted(nothing) if end >= wanted.end else _Truncated(nothing)
    aborted = (data.aborted_transactions or ()) if settings.reads_committed_only else None
    return Fetched(records, offset, next_offset, aborted)


def _skip_lost_records(
    cluster: BlockingClient, wanted: OffsetRange, offset: int, failure: Exception, *, fails_on_data_loss: bool
) -> int:
    """Return the offset to continue at: the earliest one."""
    earliest = cluster.list_offsets({wanted.tp: EARLIEST})[wanted.tp].offset
    if fails_on_data_loss:
        raise DataLoss([f"{failure}: it starts at {earliest} now"]) from failure
    next_offset = earliest if earliest > offset else wanted.end
    _log.warning(
        "Skipped records that the broker does not have any more. partition=%s from_offset=%d to_offset=%d",
        wanted.tp,
        offset,
        next_offset,
    )
    return next_offset
