"""Parses the options of a reader. Names and rules follow Spark's Kafka connector."""

import re
from typing import Final, TypeAlias

import msgspec

from penstock.client.blocking.client import EARLIEST, LATEST
from penstock.client.metadata import TopicPartition
from penstock.client.settings import ClientSettings
from penstock.spark.durations import parse_duration_ms
from penstock.spark.options import OptionError, Options
from penstock.spark.source.offsets import Offsets, parse_offsets, parse_partitions, parse_timestamps

_CHOICES: Final = ("subscribe", "subscribePattern", "assign")
_TRIGGER_DELAY_DEFAULT: Final = "15m"

# More than Kafka's megabyte: a task reads one partition at a time, and large responses make large Arrow batches.
_FETCH_BYTES_DEFAULT: Final = 4 * 1024 * 1024

_BYTES_ONLY: Final = "keys and values are read as bytes: convert them with column functions such as cast"
REFUSED_PROPERTIES: Final = {
    "auto.offset.reset": "set option startingOffsets to earliest or latest",
    "key.deserializer": _BYTES_ONLY,
    "value.deserializer": _BYTES_ONLY,
    "enable.auto.commit": "remove it: Spark keeps the offsets of a query in its checkpoint",
    "interceptor.classes": "interceptors are not supported: remove it",
}


class Topics(msgspec.Struct, frozen=True, kw_only=True):
    names: frozenset[str] = frozenset()
    pattern: str | None = None


class Assigned(msgspec.Struct, frozen=True, kw_only=True):
    partitions: frozenset[TopicPartition]


class EarliestOrLatest(msgspec.Struct, frozen=True, kw_only=True):
    """The earliest offset of every partition, or the latest."""

    offset: int


class AtOffsets(msgspec.Struct, frozen=True, kw_only=True):
    """An offset for each partition; EARLIEST and LATEST are resolved later."""

    option: str
    offsets: Offsets


class AtTimestamps(msgspec.Struct, frozen=True, kw_only=True):
    """The first record at or after a timestamp, of the partition or one for all."""

    option: str
    timestamps: Offsets | int
    takes_latest: bool  # if no record is that recent; otherwise that is an error


Subscription: TypeAlias = Topics | Assigned
Position: TypeAlias = EarliestOrLatest | AtOffsets | AtTimestamps


class SourceSpec(msgspec.Struct, frozen=True, kw_only=True):
    client: ClientSettings
    subscription: Subscription
    starting: Position
    ending: Position
    partitions_min: int | None = None
    partition_records_max: int | None = None
    trigger_offsets_max: int | None = None
    trigger_offsets_min: int | None = None
    trigger_delay_max_ms: int = 0
    fails_on_data_loss: bool = True
    includes_headers: bool = False
    cores: int | None = None  # to plan tasks for; None: those of this machine


def batch_spec(options: Options) -> SourceSpec:
    spec = _spec(options, EarliestOrLatest(offset=EARLIEST))
    if _includes_offset(spec.starting, LATEST):
        raise OptionError(
            "option startingOffsets cannot be latest (-1) in a batch query: it would read nothing"
        )
    if _includes_offset(spec.ending, EARLIEST):
        raise OptionError(
            "option endingOffsets cannot be earliest (-2) in a batch query: it would read nothing"
        )
    return spec


def stream_spec(options: Options) -> SourceSpec:
    for name in ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"):
        if options.is_given(name):
            raise OptionError(f"option {name} is for batch queries only: a stream has no end. Remove it")
    return _spec(options, EarliestOrLatest(offset=LATEST))


def depends_on_time(position: Position) -> bool:
    """Say whether the position depends on when it is resolved."""
    return _includes_offset(position, LATEST) or (
        isinstance(position, AtTimestamps) and position.takes_latest
    )


def includes_headers(options: Options) -> bool:
    return options.boolean("includeHeaders")


def _spec(options: Options, starting: Position) -> SourceSpec:
    minimum, most = options.integer("minOffsetsPerTrigger"), options.integer("maxOffsetsPerTrigger")
    if minimum is not None and most is not None and minimum > most:
        raise OptionError(
            f"option minOffsetsPerTrigger ({minimum}) is higher than maxOffsetsPerTrigger ({most})"
        )
    return SourceSpec(
        subscription=_subscription(options),
        client=_client(options),
        starting=_position(options, "starting", starting),
        ending=_position(options, "ending", EarliestOrLatest(offset=LATEST)),
        partitions_min=options.integer("minPartitions"),
        partition_records_max=options.integer("maxRecordsPerPartition"),
        trigger_offsets_max=most,
        trigger_offsets_min=minimum,
        trigger_delay_max_ms=_duration_ms(options, "maxTriggerDelay", _TRIGGER_DELAY_DEFAULT),
        fails_on_data_loss=options.boolean("failOnDataLoss", default=True),
        includes_headers=includes_headers(options),
        cores=options.integer("cores"),
    )


def _client(options: Options) -> ClientSettings:
    settings = options.client_settings(REFUSED_PROPERTIES)
    if not options.is_given("kafka.max.partition.fetch.bytes"):
        settings = msgspec.structs.replace(settings, fetch_partition_max_bytes=_FETCH_BYTES_DEFAULT)
    return settings


def _subscription(options: Options) -> Subscription:
    given = [name for name in _CHOICES if options.is_given(name)]
    if len(given) != 1:
        many = f"only one of {', '.join(_CHOICES)} can be set, not {' and '.join(given)}"
        raise OptionError(many if given else f"one of the options {', '.join(_CHOICES)} must be set")
    text = (options.text(given[0]) or "").strip()
    if given[0] == "assign":
        return Assigned(partitions=parse_partitions("assign", text))
    if given[0] == "subscribe":
        names = frozenset(options.names("subscribe"))
        if not names:
            raise OptionError("option subscribe names no topic")
        return Topics(names=names)
    if not text:
        raise OptionError("option subscribePattern is empty")
    try:
        re.compile(text)
    except re.error as error:
        raise OptionError(f"option subscribePattern is not a regular expression: {error}") from None
    return Topics(pattern=text)


def _position(options: Options, side: str, default: Position) -> Position:
    """Parse a position. One timestamp for all has precedence over timestamps by partition, and these over offsets."""
    strategy = options.choice("startingOffsetsByTimestampStrategy", ("error", "latest"))
    for name in (f"{side}Timestamp", f"{side}OffsetsByTimestamp"):
        text = options.text(name)
        if text is not None:
            is_single = name.endswith("Timestamp") and not name.endswith("ByTimestamp")
            timestamps = options.integer(name, minimum=0) if is_single else parse_timestamps(name, text)
            assert timestamps is not None
            takes_latest = side == "ending" or strategy == "latest"
            return AtTimestamps(option=name, timestamps=timestamps, takes_latest=takes_latest)
    name = f"{side}Offsets"
    text = options.text(name)
    if text is None:
        return default
    offset = {"earliest": EARLIEST, "latest": LATEST}.get(text.strip().lower())
    if offset is not None:
        return EarliestOrLatest(offset=offset)
    return AtOffsets(option=name, offsets=parse_offsets(name, text))


def _includes_offset(position: Position, offset: int) -> bool:
    if isinstance(position, EarliestOrLatest):
        return position.offset == offset
    return isinstance(position, AtOffsets) and offset in position.offsets.values()


def _duration_ms(options: Options, name: str, default: str) -> int:
    text = (options.text(name) or default).strip()
    try:
        return parse_duration_ms(f"{text} ms" if text.isdecimal() else text)
    except ValueError as error:
        raise OptionError(f"option {name}: {error}") from None
