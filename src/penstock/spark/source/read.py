"""Reads a range of offsets of one partition: the work of a task.

The next Fetch is sent before the last answer is decoded, so that the broker works while this process does. A broker
that restarts, a leader that moves and answers that are empty for a while are ridden out; after them reading goes on
behind the last records received, so that none comes twice.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from penstock.client.batches import next_offset_after, wanted_batches
from penstock.client.blocking.cluster import EARLIEST, Cluster, Leader, UnknownPartition
from penstock.client.blocking.connection import BlockingConnection
from penstock.client.blocking.retry import Patience, Retry
from penstock.client.connection import Disconnected
from penstock.client.errors import BrokerError, TimedOut, error_name
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import fetch
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.wire import Buffer
from penstock.spark.source.arrow import ArrowDecoder
from penstock.spark.source.plan import DataLoss, OffsetRange

# Compaction may leave nothing of a log's last stretch. One empty answer can have other reasons, such as a quota.
_EMPTY_ANSWERS_MAX: Final = 3
# A topic that was deleted, rather than one that a broker which has just started does not know yet.
_ABSENT_ANSWERS_MAX: Final = 5

_log = logging.getLogger(__name__)


class Fetched(NamedTuple):
    """Record batches that hold everything from `first` up to and without `next_offset`, and perhaps some before."""

    records: Buffer
    first: int
    next_offset: int
    aborted: Sequence[fetch.AbortedTransaction] | None


class _Compacted(Retry):
    """The leader has nothing up to the end that is wanted, though its log goes on behind it."""


class _Truncated(Retry):
    """The leader's log ends before the end that is wanted, which was there once."""


class _OutOfRange(Exception):
    """The partition does not have the offset that was asked for."""


def read_range(
    cluster: Cluster, wanted: OffsetRange, *, includes_headers: bool, fails_on_data_loss: bool
) -> Iterator[pa.RecordBatch]:
    """The records of a range as Arrow batches."""
    decoder = ArrowDecoder(wanted.topic, wanted.partition, includes_headers=includes_headers)
    reached = wanted.start
    try:
        for fetched in fetch_range(cluster, wanted, fails_on_data_loss=fails_on_data_loss):
            reached = fetched.first
            batches = wanted_batches(fetched.records, reached, wanted.end, fetched.aborted)
            yield from decoder.decode(fetched.records, batches, reached, wanted.end)
            reached = fetched.next_offset
    except CorruptRecords as error:
        raise CorruptRecords(
            f"{wanted.where} cannot be read from offset {reached} on: {error}. Start the query behind that, or "
            f"restore the partition's log"
        ) from error


def fetch_range(cluster: Cluster, wanted: OffsetRange, *, fails_on_data_loss: bool) -> Iterator[Fetched]:
    """What brokers answer, in order and without gaps, until `wanted` is complete."""
    where = wanted.where
    offset = wanted.start
    patience = cluster.patience(f"reading {where} from offset {offset} to {wanted.end}")
    empty = absent = 0
    while offset < wanted.end:
        try:
            leader = cluster.leader(where)
            with cluster.connection(leader.address) as connection:
                for fetched in _pipelined(connection, leader, wanted, offset, cluster.settings):
                    patience.worked()
                    empty = absent = 0
                    yield fetched
                    offset = fetched.next_offset
        except (Retry, Disconnected) as failure:
            cluster.forget_leader(where)
            empty = empty + 1 if isinstance(failure, _Compacted) else 0
            absent = absent + 1 if isinstance(failure, UnknownPartition) else 0
            if empty == _EMPTY_ANSWERS_MAX:
                return
            try:
                _go_on(patience, failure, is_gone=absent == _ABSENT_ANSWERS_MAX)
            except (DataLoss, TimedOut):
                # A broker that cannot be reached has lost nothing: that is an error whatever the option says.
                if fails_on_data_loss or not isinstance(failure, (UnknownPartition, _Truncated)):
                    raise
                _log.warning("going on without %s from offset %d on: %s", where, offset, failure)
                return
        except _OutOfRange as failure:
            offset = _after_loss(cluster, wanted, offset, failure, fails_on_data_loss=fails_on_data_loss)


def _go_on(patience: Patience, failure: Exception, *, is_gone: bool) -> None:
    if is_gone:
        raise DataLoss([str(failure)]) from failure
    patience.failed(failure)


def _pipelined(
    connection: BlockingConnection, leader: Leader, wanted: OffsetRange, offset: int, settings: ClientSettings
) -> Iterator[Fetched]:
    version = connection.version(fetch.API_KEY)
    request = _request(version, leader, wanted, offset, settings)
    connection.send(fetch.API_KEY, version, request)
    while True:
        fetched = _judged(connection.receive(), wanted, offset, settings)
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
        partition_max_bytes=settings.fetch_partition_max_bytes,
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


def _judged(
    response: fetch.FetchResponse, wanted: OffsetRange, offset: int, settings: ClientSettings
) -> Fetched:
    """What an answer brought; raises when it brought nothing."""
    data = response.responses[0].partitions[0] if response.responses else None
    code = response.error_code or (data.error_code if data else 0)
    if code == ErrorCode.OFFSET_OUT_OF_RANGE:
        raise _OutOfRange(f"{wanted.where} does not have offset {offset} any more")
    if code and is_retriable(code):
        raise Retry(f"{wanted.where} was answered with {error_name(code)}")
    if code:
        raise BrokerError(code, f"reading {wanted.where} at offset {offset}")
    records = data.records if data else None
    next_offset = next_offset_after(records) if records else None
    if data is None or records is None or next_offset is None or next_offset <= offset:
        nothing = f"{wanted.where} has nothing at offset {offset}, though it is known to reach {wanted.end}"
        if data is None or records or response.throttle_time_ms:
            raise Retry(nothing)
        raise _Compacted(nothing) if _end_of(data, settings) >= wanted.end else _Truncated(nothing)
    aborted = (data.aborted_transactions or ()) if settings.reads_committed_only else None
    return Fetched(records, offset, next_offset, aborted)


def _end_of(data: fetch.PartitionData, settings: ClientSettings) -> int:
    return data.last_stable_offset if settings.reads_committed_only else data.high_watermark


def _after_loss(
    cluster: Cluster, wanted: OffsetRange, offset: int, failure: Exception, *, fails_on_data_loss: bool
) -> int:
    """Where to go on when an offset is gone: at the earliest that is left, if at all."""
    earliest = cluster.list_offsets({wanted.where: EARLIEST})[wanted.where].offset
    loss = f"{failure}: it starts at {earliest} now"
    if fails_on_data_loss:
        raise DataLoss([loss]) from failure
    _log.warning("going on without records that are lost: %s", loss)
    return earliest if earliest > offset else wanted.end
