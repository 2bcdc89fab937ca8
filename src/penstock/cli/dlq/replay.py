"""Replays rejected records, and stores which, in one transaction for each batch of them.

The position is the committed offset of a consumer group (`penstock-dlq-replay.<topic>`), written by the transaction
that sends the records. A second replay at the same time fences the first, whose open transaction is aborted.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from confluent_kafka import KafkaException, TopicPartition

from penstock.cli.connect.librdkafka import REQUEST_TIMEOUT_S, describe_error
from penstock.cli.connect.offsets import fetch_bounds
from penstock.cli.connect.target import unknown_topic
from penstock.cli.connect.topics import fetch_metadata, topic_partitions
from penstock.cli.consume.reader import read_batches
from penstock.cli.dlq.progress import METADATA_CHARACTERS_MAX, Progress, TooManyRanges
from penstock.cli.dlq.rejected_record import Filter, RejectedRecord, parse_rejected
from penstock.cli.errors import CommandError
from penstock.cli.record_format import Record

_BATCH_RECORDS = 1000
_SEND_TIMEOUT_S = 60.0
_ANY_PARTITION = -1


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a replay."""

    topic: str
    selected: Filter
    to: str | None = None
    include_replayed: bool = False
    count_max: int | None = None
    dry_run: bool = False

    @property
    def group(self) -> str:
        return f"penstock-dlq-replay.{self.topic}"

    def target(self, rejected: RejectedRecord) -> str | None:
        """Give the topic to send a record to; None for a row without a record."""
        origin = rejected.rejection.origin
        if origin is None:
            return None
        return origin.topic if self.to is None else self.to


class Replayed(msgspec.Struct, kw_only=True):
    """The result of a replay."""

    count: int = 0
    rows: int = 0  # without a record: they cannot be replayed
    planned: list[tuple[RejectedRecord, str]] = []  # of a dry run


def replay_records(admin: Any, consumer: Any, make_producer: Callable[[], Any], plan: Replay) -> Replayed:
    """Replay the records that the plan selects, up to the current end."""
    bounds = fetch_bounds(admin, plan.topic, topic_partitions(admin, plan.topic), is_read_committed=True)
    starts = {number: each.start for number, each in bounds.items()}
    ends = {number: each.end for number, each in bounds.items()}
    progress = _fetch_progress(consumer, plan.topic, starts)
    first = starts if plan.include_replayed else {number: each.position for number, each in progress.items()}
    records = (each for batch in read_batches(consumer, plan.topic, first, ends) for each in batch)
    selection = _Selection(plan, progress, first)
    done = Replayed()
    topics = fetch_metadata(admin).topics
    sender: _Sender | None = None
    for batch in _batches(selection.select(records, done)):
        for rejected, target in batch:
            _check_target(topics, rejected, target)
        if plan.dry_run:
            done.planned += batch
        else:
            sender = sender or _Sender(make_producer(), consumer, plan.topic)
            sender.send(batch, plan, topics, selection.take_changes())
        done.count += len(batch)
    if not plan.dry_run and selection.finish(ends):
        sender = sender or _Sender(make_producer(), consumer, plan.topic)
        sender.send([], plan, topics, selection.take_changes())
    return done


def _fetch_progress(consumer: Any, topic: str, starts: Mapping[int, int]) -> dict[int, Progress]:
    try:
        found = consumer.committed([TopicPartition(topic, each) for each in starts], REQUEST_TIMEOUT_S)
    except KafkaException as error:
        raise CommandError(
            f"cannot read which records of {topic} were replayed: {describe_error(error)}"
        ) from None
    progress = {}
    for place in found:
        known = Progress(max(place.offset, 0), place.metadata or "")
        known.add(0, starts[place.partition] - 1)  # retention has deleted them
        progress[place.partition] = known
    return progress


class _Selection:
    """Selects the records to send, and tracks the offsets that are done."""

    def __init__(self, plan: Replay, progress: dict[int, Progress], first: Mapping[int, int]) -> None:
        self._plan = plan
        self._progress = progress
        self._next = dict(first)  # by partition: the offset after the last record
        self._passed: list[tuple[int, int, int]] = []
        self._is_partial = False

    def select(self, records: Iterable[Record], done: Replayed) -> Iterable[tuple[RejectedRecord, str]]:
        sent = 0
        for record in records:
            if self._plan.count_max is not None and sent >= self._plan.count_max:
                self._is_partial = True
                return
            begin = self._next[record.partition]
            self._next[record.partition] = record.offset + 1
            if self._progress[record.partition].has(record.offset) and not self._plan.include_replayed:
                continue
            rejected = parse_rejected(record)
            if rejected is not None and not self._plan.selected.matches(rejected):
                continue
            # A record without the headers of a rejection, or without an origin, is never replayed.
            self._passed.append((record.partition, begin, record.offset))
            if rejected is None:
                continue
            target = self._plan.target(rejected)
            if target is None:
                done.rows += 1
                continue
            sent += 1
            yield rejected, target

    def finish(self, ends: Mapping[int, int]) -> bool:
        """Mark the offsets after the last record as done. Whether there are changes to store."""
        if not self._is_partial:
            for partition, end in ends.items():
                if self._progress[partition].position < end and self._next[partition] < end:
                    self._passed.append((partition, self._next[partition], end - 1))
        return bool(self._passed)

    def take_changes(self) -> dict[int, Progress]:
        """Give the partitions whose progress has changed since the last call."""
        changed = {}
        for partition, begin, end in self._passed:
            self._progress[partition].add(begin, end)
            changed[partition] = self._progress[partition]
        self._passed.clear()
        return changed


def _batches(records: Iterable[tuple[RejectedRecord, str]]) -> Iterable[list[tuple[RejectedRecord, str]]]:
    batch: list[tuple[RejectedRecord, str]] = []
    for each in records:
        batch.append(each)
        if len(batch) >= _BATCH_RECORDS:
            yield batch
            batch = []
    if batch:
        yield batch


def _check_target(topics: Mapping[str, Any], rejected: RejectedRecord, target: str) -> None:
    if target not in topics:
        reason = unknown_topic(target, topics)
        place = f"{rejected.record.partition}:{rejected.record.offset}"
        raise CommandError(f"cannot replay record {place}: {reason} or choose another topic with --to")


class _Sender:
    """A transactional producer that stores the progress together with the records."""

    def __init__(self, producer: Any, consumer: Any, topic: str) -> None:
        self._producer = producer
        self._consumer = consumer
        self._topic = topic
        self._refused: list[str] = []
        try:
            producer.init_transactions(_SEND_TIMEOUT_S)
        except KafkaException as error:
            raise CommandError(f"cannot start a replay of {topic}: {describe_error(error)}") from None

    def send(
        self,
        batch: list[tuple[RejectedRecord, str]],
        plan: Replay,
        topics: Mapping[str, Any],
        changed: Mapping[int, Progress],
    ) -> None:
        try:
            self._producer.begin_transaction()
            for rejected, target in batch:
                self._produce(rejected, target, plan, topics)
            self._await_sent()
            self._store(changed)
            self._producer.commit_transaction(_SEND_TIMEOUT_S)
        except KafkaException as error:
            self._abort()
            raise CommandError(
                f"cannot replay {plan.topic}: {describe_error(error)}; nothing of this batch was sent, run it again"
            ) from None
        except (CommandError, KeyboardInterrupt):
            self._abort()
            raise

    def _produce(
        self, rejected: RejectedRecord, target: str, plan: Replay, topics: Mapping[str, Any]
    ) -> None:
        origin = rejected.rejection.origin
        assert origin is not None
        partition = _ANY_PARTITION
        if plan.to is None and origin.partition in topics[target].partitions:
            partition = origin.partition
        self._producer.produce(
            target,
            rejected.record.value,
            rejected.record.key,
            partition,
            headers=list(rejected.rejection.headers),
            on_delivery=self._on_delivery,
        )
        self._producer.poll(0)

    def _await_sent(self) -> None:
        if self._producer.flush(_SEND_TIMEOUT_S) or self._refused:
            raise CommandError(
                f"cannot replay {self._topic}: {(self._refused or ['the broker does not respond'])[0]}"
            )

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self._refused.append(f"{message.topic()} refused a record: {describe_error(error)}")

    def _store(self, changed: Mapping[int, Progress]) -> None:
        try:
            places = [
                TopicPartition(self._topic, partition, each.position, each.metadata())
                for partition, each in sorted(changed.items())
            ]
        except TooManyRanges:
            raise CommandError(
                f"cannot store which records of {self._topic} were replayed: filters selected more ranges than fit in "
                f"{METADATA_CHARACTERS_MAX} characters; replay the rest without a filter, or with a wider one"
            ) from None
        if places:
            self._producer.send_offsets_to_transaction(
                places, self._consumer.consumer_group_metadata(), _SEND_TIMEOUT_S
            )

    def _abort(self) -> None:
        with contextlib.suppress(KafkaException):
            self._producer.abort_transaction(_SEND_TIMEOUT_S)
