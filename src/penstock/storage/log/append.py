"""Appends of a leader: from the bytes of a request to stored batches.

Batches are validated, rewritten if needed, checked against their producer's state, and get their offsets. The appends
of one turn of the event loop are stored with a single write if possible.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_PRODUCER_ID,
    PLACE,
    BatchHeader,
    crc_is_valid,
    iter_batches,
)
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.rules import (
    InvalidBatch,
    Rewrite,
    TooLargeForEventLoop,
    ValidationRules,
    rules_for,
)
from penstock.protocol.records.validation import rewrite_batch, validate_batch
from penstock.storage.errors import AppendRejected, LogError
from penstock.storage.files import Buffer
from penstock.storage.log.log import Log
from penstock.storage.log.values import Appended
from penstock.storage.producers.appends import check_producers
from penstock.storage.producers.state import Duplicate
from penstock.storage.producers.transaction_permit import TransactionPermit
from penstock.storage.storable_batch import StorableBatch

_AS_IT_IS = Rewrite.NONE  # in Python 3.11 it takes a call to get a member of an enum
EVENT_LOOP_BYTES_MAX = 2 * 1024 * 1024
"""Larger batches of clients are checked on a thread: the loop is held for some milliseconds."""


class Append(Protocol):
    """Checked batches, which are stored together or not at all, and their permit."""

    batches: list[StorableBatch]
    is_from_client: bool
    permit: TransactionPermit | None
    appended: Appended | None
    """The offsets of the records, once the log has appended them."""
    refusal: LogError | None
    """The reason why the log has refused them."""


class Checked:
    """Batches that were checked by these rules, and may be stored while the rules apply."""

    __slots__ = ("batches", "rules")

    def __init__(self, rules: ValidationRules, batches: list[StorableBatch]) -> None:
        self.rules = rules
        self.batches = batches


class Appender:
    """Appends to one log as its leader, by its topic's current settings."""

    __slots__ = ("_config", "_event_loop_rules", "_rules", "log")

    def __init__(self, log: Log) -> None:
        self.log = log
        self._take_settings()

    def _take_settings(self) -> None:
        self._config = self.log.config
        self._rules = rules_for(self._config)
        self._event_loop_rules = msgspec.structs.replace(
            self._rules, event_loop_bytes_max=EVENT_LOOP_BYTES_MAX
        )

    def _current_rules(self) -> ValidationRules:
        if self._config is not self.log.config:
            self._take_settings()
        return self._rules

    def prepare(
        self, records: Buffer, now_ms: int, *, is_from_client: bool = True, checked: Checked | None = None
    ) -> list[StorableBatch]:
        """Check records for `append_each`: one batch from a client. Raises `AppendRejected`.

        A client's batch that takes long to check raises `TooLargeForEventLoop`: run `checking` on a thread, and pass
        its result as `checked`.
        """
        if self._config is not self.log.config:
            self._take_settings()
        if checked is not None:
            if checked.rules is not self._rules:  # the topic's settings changed meanwhile
                raise TooLargeForEventLoop
            return checked.batches
        if not is_from_client:
            return prepare_own(records, self._rules, now_ms)
        return [prepare_produced(records, self._event_loop_rules, now_ms)]

    def checking(self, records: Buffer, now_ms: int) -> Callable[[], Checked]:
        """A function that checks a client's batch of any size; call it where blocking is allowed."""
        return partial(check_produced, records, self._current_rules(), now_ms)

    def append_each(self, appends: Sequence[Append], *, leader_epoch: int, now_ms: int) -> None:
        """Store prepared appends, with a single write if possible. Each gets its own outcome."""
        if len(appends) == 1:
            if appends[0].batches[0].header.producer_id != NO_PRODUCER_ID:
                self._judge(appends[0], leader_epoch)
            self._store_each(appends, leader_epoch, now_ms)
            return
        producer_ids: set[int] = set()
        begin = 0
        for number, append in enumerate(appends):
            producer_id = append.batches[0].header.producer_id
            if producer_id == NO_PRODUCER_ID:
                continue
            if producer_id in producer_ids:  # it is checked against its earlier appends
                self._store_each(appends[begin:number], leader_epoch, now_ms)
                begin = number
                producer_ids.clear()
            self._judge(append, leader_epoch)
            producer_ids.add(producer_id)
        self._store_each(appends[begin:], leader_epoch, now_ms)

    def _judge(self, append: Append, leader_epoch: int) -> None:
        """Set the outcome of a producer's append that is not to be stored: it is refused, or a retry."""
        if self.log.failure is not None:  # `_store_each` reports it
            return
        try:
            duplicate = check_producers(
                self.log.producers, append.batches, is_from_client=append.is_from_client, permit=append.permit
            )
        except AppendRejected as rejected:
            append.refusal = rejected
            return
        if duplicate is not None:
            append.appended = self._known(duplicate, leader_epoch)

    def _store_each(self, appends: Sequence[Append], leader_epoch: int, now_ms: int) -> None:
        """Store those that have no outcome yet."""
        appends = [each for each in appends if each.appended is None and each.refusal is None]
        if not appends:
            return
        if self.log.failure is not None:  # before them, or by those that came before in the same group
            _refuse(appends, self.log.failure.with_traceback(None))
            return
        batches = appends[0].batches
        if len(appends) > 1:
            batches = [batch for append in appends for batch in append.batches]
            if not self.log.chain.has_room_for(batches, now_ms):
                for append in appends:
                    self._store_each([append], leader_epoch, now_ms)
                return
        base_offset, log_start_offset = self.log.chain.end_offset, self.log.log_start_offset
        assign_offsets(batches, base_offset, leader_epoch)
        try:
            self.log.store(batches, now_ms)
        except LogError as error:
            _refuse(appends, error)
            return
        if leader_epoch != self.log.epochs.latest_epoch and leader_epoch >= 0:
            self.log.epochs.assign(leader_epoch, base_offset)
        for append in appends:
            first = append.batches[0]
            is_log_append_time = first.data[ATTRIBUTES_POSITION + 1] & LOG_APPEND_TIME_FLAG
            append.appended = Appended(
                base_offset=first.base_offset,
                last_offset=append.batches[-1].last_offset,
                leader_epoch=leader_epoch,
                log_append_time_ms=first.max_timestamp if is_log_append_time else -1,
                log_start_offset=log_start_offset,
            )

    def _known(self, duplicate: Duplicate, leader_epoch: int) -> Appended:
        return Appended(
            base_offset=duplicate.first_offset,
            last_offset=duplicate.last_offset,
            leader_epoch=leader_epoch,
            log_append_time_ms=duplicate.timestamp if self._current_rules().is_log_append_time else -1,
            log_start_offset=self.log.log_start_offset,
            duplicate=True,
        )


def _refuse(appends: Sequence[Append], error: LogError) -> None:
    for append in appends:
        append.refusal = error


def check_produced(records: Buffer, rules: ValidationRules, now_ms: int) -> Checked:
    """Check a client's batch, however large; for a thread. Raises `AppendRejected`."""
    return Checked(rules, [prepare_produced(records, rules, now_ms)])


def prepare_own(records: Buffer, rules: ValidationRules, now_ms: int) -> list[StorableBatch]:
    """Prepare batches that the broker itself has built, one or more. Raises `AppendRejected`.

    Their records are not checked, unless the topic's settings demand another codec or timestamp type.
    """
    prepared = []
    for part, header in _split(bytearray(records) if isinstance(records, bytes) else records):
        if not rules.leaves_unchanged(header):
            prepared.append(prepare_produced(part, rules, now_ms, is_from_client=False))
        elif crc_is_valid(part, 0, len(part)):
            prepared.append(
                StorableBatch(part, header, 0, header.last_offset_delta, header.max_timestamp, len(part))
            )
        else:
            raise AppendRejected(ErrorCode.CORRUPT_MESSAGE, "The batch does not match its CRC")
    return prepared


def prepare_produced(
    batch: Buffer, rules: ValidationRules, now_ms: int, *, is_from_client: bool = True
) -> StorableBatch:
    """Validate a batch appended by the leader.

    Its data is writable and its offset is not assigned yet. Raises `AppendRejected`, or `TooLargeForEventLoop` where
    the rules say so.
    """
    try:
        validated = validate_batch(batch, rules, now_ms, is_from_client=is_from_client)
        data = batch if validated.rewrite is _AS_IT_IS else rewrite_batch(batch, validated, rules)
    except InvalidBatch as error:
        raise AppendRejected(error.code, error.message, error.record_errors) from None
    header = validated.header
    if data.readonly if isinstance(data, memoryview) else isinstance(data, bytes):
        data = bytearray(data)
    return StorableBatch(data, header, 0, header.last_offset_delta, validated.max_timestamp, len(data))


def _split(records: Buffer) -> Iterator[tuple[memoryview, BatchHeader]]:
    view = memoryview(records)
    end = 0
    try:
        for position, header in iter_batches(records):
            end = position + header.size_bytes
            yield view[position:end], header
    except CorruptRecords as error:
        raise AppendRejected(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    if end == 0 or end != len(records):
        raise AppendRejected(
            ErrorCode.INVALID_RECORD, f"{len(records) - end} bytes are not a whole record batch"
        )


def assign_offsets(batches: Sequence[StorableBatch], next_offset: int, leader_epoch: int) -> None:
    """Assign offsets to the batches, in place: the checksum does not cover them."""
    for batch in batches:
        # One call for both: the length lies between them, and is unchanged.
        PLACE.pack_into(batch.data, 0, next_offset, batch.size_bytes - LOG_OVERHEAD, leader_epoch)
        batch.base_offset = next_offset
        batch.last_offset = next_offset + batch.header.last_offset_delta
        next_offset = batch.last_offset + 1
