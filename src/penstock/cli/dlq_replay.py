"""Sends dead letters round again, and remembers which, in one transaction for each portion of them.

The position is kept in a consumer group of its own (`penstock-dlq-replay.<topic>`), written by the transaction that
sends the records. A second replay that runs at the same time fences the first, whose open transaction is aborted.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from penstock.cli.connection import (
    REQUEST_TIMEOUT_SECONDS,
    describe_error,
    metadata_of,
    partitions_of,
    unknown_topic,
)
from penstock.cli.dlq_letters import Choice, Letter, as_letter, read_records
from penstock.cli.dlq_progress import METADATA_CHARACTERS_MAX, Progress, TooManyPieces
from penstock.cli.errors import CommandError
from penstock.cli.offsets import earliest, latest
from penstock.cli.record_format import Shown

_PORTION = 1000
_SEND_TIMEOUT_SECONDS = 60.0
_ANY_PARTITION = -1


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for."""

    topic: str
    choice: Choice
    to: str | None = None
    again: bool = False
    count_max: int | None = None
    dry_run: bool = False

    @property
    def group(self) -> str:
        return f"penstock-dlq-replay.{self.topic}"

    def target(self, letter: Letter) -> str | None:
        """The topic that a letter goes to; None for a row without a record."""
        origin = letter.about.origin
        if origin is None:
            return None
        return origin.topic if self.to is None else self.to


class Replayed(msgspec.Struct, kw_only=True):
    """What was done."""

    count: int = 0
    rows: int = 0  # letters that cannot be replayed
    letters: list[tuple[Letter, str]] = []  # of a dry run


def replay_letters(admin: Any, consumer: Any, make_producer: Callable[[], Any], plan: Replay) -> Replayed:
    """Replay what the plan says, up to what is the end now."""
    partitions = partitions_of(admin, plan.topic)
    starts = earliest(admin, plan.topic, partitions)
    ends = latest(admin, plan.topic, partitions, is_read_committed=True)
    progress = _committed(consumer, plan.topic, starts)
    first = starts if plan.again else {number: each.position for number, each in progress.items()}
    records = read_records(consumer, plan.topic, first, ends)
    chooser = _Chooser(plan, progress, first)
    done = Replayed()
    topics = metadata_of(admin).topics
    sender: _Sender | None = None
    for portion in _portions(chooser.choose(records, done)):
        for letter, target in portion:
            _check_target(topics, letter, target)
        if plan.dry_run:
            done.letters += portion
        else:
            sender = sender or _Sender(make_producer(), consumer, plan.topic)
            sender.send(portion, plan, topics, chooser.pending())
        done.count += len(portion)
    if not plan.dry_run and chooser.finish(ends):
        sender = sender or _Sender(make_producer(), consumer, plan.topic)
        sender.send([], plan, topics, chooser.pending())
    return done


def _committed(consumer: Any, topic: str, starts: Mapping[int, int]) -> dict[int, Progress]:
    from confluent_kafka import KafkaException, TopicPartition

    try:
        found = consumer.committed([TopicPartition(topic, each) for each in starts], REQUEST_TIMEOUT_SECONDS)
    except KafkaException as error:
        raise CommandError(f"cannot find out what was replayed: {describe_error(error)}") from None
    progress = {}
    for place in found:
        known = Progress(max(place.offset, 0), place.metadata or "")
        known.add(0, starts[place.partition] - 1)  # what retention has deleted will not be replayed
        progress[place.partition] = known
    return progress


class _Chooser:
    """Goes through the records, chooses what is sent, and keeps count of what is done with it."""

    def __init__(self, plan: Replay, progress: dict[int, Progress], first: Mapping[int, int]) -> None:
        self._plan = plan
        self._progress = progress
        self._next = dict(first)  # of each partition: the offset after the last record that was looked at
        self._passed: list[tuple[int, int, int]] = []
        self._is_cut_short = False

    def choose(self, records: Iterable[Shown], done: Replayed) -> Iterable[tuple[Letter, str]]:
        chosen = 0
        for record in records:
            if self._plan.count_max is not None and chosen >= self._plan.count_max:
                self._is_cut_short = True
                return
            begin = self._next[record.partition]
            self._next[record.partition] = record.offset + 1
            if self._progress[record.partition].has(record.offset) and not self._plan.again:
                continue
            letter = as_letter(record)
            if letter is not None and not self._plan.choice.takes(letter):
                continue
            # A record that is no letter, or has no origin, is passed for good.
            self._passed.append((record.partition, begin, record.offset))
            target = self._plan.target(letter) if letter is not None else None
            if letter is None:
                continue
            if target is None:
                done.rows += 1
                continue
            chosen += 1
            yield letter, target

    def finish(self, ends: Mapping[int, int]) -> bool:
        """After the last record: what follows it holds no letter. Whether anything is left to remember."""
        if not self._is_cut_short:
            for partition, end in ends.items():
                if self._progress[partition].position < end and self._next[partition] < end:
                    self._passed.append((partition, self._next[partition], end - 1))
        return bool(self._passed)

    def pending(self) -> dict[int, Progress]:
        """The partitions whose progress has changed since it was last asked for."""
        changed = {}
        for partition, begin, end in self._passed:
            self._progress[partition].add(begin, end)
            changed[partition] = self._progress[partition]
        self._passed.clear()
        return changed


def _portions(letters: Iterable[tuple[Letter, str]]) -> Iterable[list[tuple[Letter, str]]]:
    portion: list[tuple[Letter, str]] = []
    for each in letters:
        portion.append(each)
        if len(portion) >= _PORTION:
            yield portion
            portion = []
    if portion:
        yield portion


def _check_target(topics: Mapping[str, Any], letter: Letter, target: str) -> None:
    if target not in topics:
        told = unknown_topic(target, topics)
        place = f"{letter.record.partition}:{letter.record.offset}"
        raise CommandError(f"letter {place} cannot be sent: {told} or choose another with --to")


class _Sender:
    """A transactional producer that writes the position together with the records."""

    def __init__(self, producer: Any, consumer: Any, topic: str) -> None:
        from confluent_kafka import KafkaException

        self._producer = producer
        self._consumer = consumer
        self._topic = topic
        self._refused: list[str] = []
        try:
            producer.init_transactions(_SEND_TIMEOUT_SECONDS)
        except KafkaException as error:
            raise CommandError(f"cannot begin to replay {topic}: {describe_error(error)}") from None

    def send(
        self,
        portion: list[tuple[Letter, str]],
        plan: Replay,
        topics: Mapping[str, Any],
        changed: Mapping[int, Progress],
    ) -> None:
        from confluent_kafka import KafkaException

        try:
            self._producer.begin_transaction()
            for letter, target in portion:
                self._produce(letter, target, plan, topics)
            self._await_sent()
            self._remember(changed)
            self._producer.commit_transaction(_SEND_TIMEOUT_SECONDS)
        except KafkaException as error:
            self._abort()
            raise CommandError(
                f"cannot replay: {describe_error(error)}; nothing of this portion was sent, run it again"
            ) from None
        except (CommandError, KeyboardInterrupt):
            self._abort()
            raise

    def _produce(self, letter: Letter, target: str, plan: Replay, topics: Mapping[str, Any]) -> None:
        origin = letter.about.origin
        assert origin is not None
        partition = _ANY_PARTITION
        if plan.to is None and origin.partition in topics[target].partitions:
            partition = origin.partition
        self._producer.produce(
            target,
            letter.record.value,
            letter.record.key,
            partition,
            headers=list(letter.about.headers),
            on_delivery=self._on_delivery,
        )
        self._producer.poll(0)

    def _await_sent(self) -> None:
        if self._producer.flush(_SEND_TIMEOUT_SECONDS) or self._refused:
            raise CommandError(f"cannot replay: {(self._refused or ['the broker does not answer'])[0]}")

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self._refused.append(f"{message.topic()} refused a record: {describe_error(error)}")

    def _remember(self, changed: Mapping[int, Progress]) -> None:
        from confluent_kafka import TopicPartition

        try:
            places = [
                TopicPartition(self._topic, partition, each.position, each.metadata())
                for partition, each in sorted(changed.items())
            ]
        except TooManyPieces:
            raise CommandError(
                "cannot remember which letters were replayed: filters have chosen them in more pieces than fit in "
                f"{METADATA_CHARACTERS_MAX} characters; replay the rest without a filter, or with one that takes more"
            ) from None
        if places:
            self._producer.send_offsets_to_transaction(
                places, self._consumer.consumer_group_metadata(), _SEND_TIMEOUT_SECONDS
            )

    def _abort(self) -> None:
        from confluent_kafka import KafkaException

        with contextlib.suppress(KafkaException):
            self._producer.abort_transaction(_SEND_TIMEOUT_SECONDS)
