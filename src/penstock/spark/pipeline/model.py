"""What a pipeline is: sources, steps, outputs. The YAML form and the Python form both make these values.

    pipeline: payments
    bootstrap_servers: 127.0.0.1:9092
    checkpoints: ./state/payments

    sources:
      orders:
        topic: orders
        decode: {json: {schema: "orderId STRING NOT NULL, amount DOUBLE, at TIMESTAMP"}}
        expect: [{name: positive amount, rule: amount > 0, otherwise: dead-letter}]

    steps:
      - {name: paid, sql: "SELECT orderId, amount FROM orders WHERE amount < 1000"}

    outputs:
      payments: {from: paid, topic: payments, key: orderId}
      history: {from: paid, table: ./lake/paid, partition_by: [day]}

Names of sources and steps are one namespace: each is a view that SQL may read, whatever the order in the file; in the
model each step comes after the steps that it reads. `line` is where the thing stands in the file (0: unknown; of a
SqlStep, where its text begins), so that every error can name it. Durations are milliseconds here, whatever the file
said. A frame that comes from a topic carries `_record` (topic, partition, offset, timestamp, key, value, headers) for
as long as its steps keep that column; outputs drop it.
"""

import enum
from collections.abc import Callable
from typing import Any

import msgspec


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    line: int = 0


# -- decoders: the bytes of a record become columns


class RawDecoder(_Part, frozen=True, kw_only=True, tag="raw"):
    """`key` and `value` as they are: binary, or text when `text` is set."""

    text: bool = False
    allow_null: bool = True


class JsonDecoder(_Part, frozen=True, kw_only=True, tag="json"):
    schema: str  # Spark's DDL; NOT NULL marks what must be there
    allow_null: bool = False  # a tombstone is a row of nulls, not a dead letter


class EnvelopeDecoder(_Part, frozen=True, kw_only=True, tag="envelope"):
    """The event envelope of `penstock.events`: eventId, eventType, timestamp, correlationId, sender, payload."""

    payload: str | None = None  # DDL of the payload; without it `payload` is the JSON text
    event_types: tuple[str, ...] = ()  # other types are passed over in silence; empty: all are wanted


class AvroDecoder(_Part, frozen=True, kw_only=True, tag="avro"):
    """Confluent's framing (a zero byte, the schema's id, the body), or with `framed=False` the body alone."""

    reader_schema: str | None = None  # a file; without it the newest of `schemas` is what rows look like
    schemas: dict[int, str] = {}  # id -> file
    registry_url: str | None = None
    framed: bool = True
    allow_null: bool = False


class ProtobufDecoder(_Part, frozen=True, kw_only=True, tag="protobuf"):
    """Confluent's framing with message indexes, or with `framed=False` the body alone."""

    descriptors: str  # a file made by `protoc --descriptor_set_out --include_imports`
    message: str  # full name
    framed: bool = True
    allow_null: bool = False


Decoder = RawDecoder | JsonDecoder | EnvelopeDecoder | AvroDecoder | ProtobufDecoder


# -- expectations


class Otherwise(enum.Enum):
    """What happens to a row that breaks a rule."""

    WARN = "warn"
    DROP = "drop"
    DEAD_LETTER = "dead-letter"
    STOP = "stop"


class Expectation(_Part, frozen=True, kw_only=True):
    name: str
    rule: str  # a SQL condition; null counts as broken
    otherwise: Otherwise = Otherwise.DEAD_LETTER


class Watermark(_Part, frozen=True, kw_only=True):
    column: str
    delay_ms: int


# -- sources


class TopicSource(_Part, frozen=True, kw_only=True):
    name: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None  # instead of `topics`
    decoder: Decoder = RawDecoder()
    starting: str = "earliest"  # earliest, latest, offsets as JSON, or a time in ISO 8601
    max_offsets_per_trigger: int | None = None
    watermark: Watermark | None = None
    expectations: tuple[Expectation, ...] = ()
    options: dict[str, str] = {}  # passed to the Spark source as they are


class TableSource(_Part, frozen=True, kw_only=True):
    """A table read once at the start of each batch: the static side of a join."""

    name: str
    path: str
    format: str = "delta"  # delta, iceberg, parquet, or any format Spark reads
    options: dict[str, str] = {}


Source = TopicSource | TableSource


# -- steps: a name, what it reads, what it does

PythonFunction = Callable[..., Any]


class SqlStep(_Part, frozen=True, kw_only=True):
    """SQL over earlier names. What it reads is found in the text."""

    query: str


class FilterStep(_Part, frozen=True, kw_only=True):
    condition: str


class PythonStep(_Part, frozen=True, kw_only=True):
    """`function(frame, …)` gets the frames of `inputs` in order and gives a frame."""

    function: str | PythonFunction  # "module:name" or "file.py:name" relative to the pipeline file


class DedupeStep(_Part, frozen=True, kw_only=True):
    by: tuple[str, ...]
    within_ms: int | None = None  # needs a watermark; without it, state grows for ever


class WindowStep(_Part, frozen=True, kw_only=True):
    """Windows over event time; the result has `window_start`, `window_end`, `by` and the aggregates."""

    on: str
    size_ms: int
    slide_ms: int | None = None
    session_gap_ms: int | None = None  # instead of size and slide
    by: tuple[str, ...] = ()
    aggregates: dict[str, str]  # column -> SQL aggregate


class JoinStep(_Part, frozen=True, kw_only=True):
    """`inputs` are left and right; `on` is a condition over them by their names (`left.id = right.id`)."""

    on: str
    how: str = "inner"
    select: str = "*"


class StateStep(_Part, frozen=True, kw_only=True):
    """Spark's `transformWithState` (in pandas): `processor` is a StatefulProcessor class."""

    by: tuple[str, ...]
    processor: str | type
    schema: str
    time_mode: str = "None"  # None, ProcessingTime, EventTime
    output_mode: str = "append"


Operation = SqlStep | FilterStep | PythonStep | DedupeStep | WindowStep | JoinStep | StateStep


class Step(_Part, frozen=True, kw_only=True):
    name: str
    inputs: tuple[str, ...]  # names of sources and earlier steps, in the order the operation wants them
    operation: Operation
    watermark: Watermark | None = None  # set on the input before the operation
    expectations: tuple[Expectation, ...] = ()  # held by the result


# -- outputs: each is a streaming query of its own


class TopicTarget(_Part, frozen=True, kw_only=True):
    topic: str
    key: str | None = None  # a SQL expression
    value: str | None = None  # a SQL expression; without it the whole row as JSON
    headers: dict[str, str] = {}  # name -> SQL expression
    delivery: str = "exactly-once"
    partitions: int | None = None  # the topic is made with so many if it is missing


class TableTarget(_Part, frozen=True, kw_only=True):
    path: str
    format: str = "delta"
    partition_by: tuple[str, ...] = ()
    merge_schema: bool = False


class ConsoleTarget(_Part, frozen=True, kw_only=True):
    rows: int = 20


Target = TopicTarget | TableTarget | ConsoleTarget


class Output(_Part, frozen=True, kw_only=True):
    name: str
    input: str
    target: Target
    mode: str = "append"  # append, update, complete
    trigger_ms: int | None = None  # instead of the pipeline's


class Restart(_Part, frozen=True, kw_only=True):
    """How often a failed query is started again, with a pause that doubles."""

    attempts: int = 5
    within_ms: int = 600_000  # failures older than this are forgotten
    backoff_ms: int = 1_000


class Pipeline(_Part, frozen=True, kw_only=True):
    name: str
    bootstrap_servers: str = "127.0.0.1:9092"
    source_format: str = "penstock"  # or kafka: Spark's own connector
    checkpoints: str = ""  # a directory; empty: `.penstock/<name>` beside the file
    dead_letter_topic: str = ""  # empty: `<name>.dlq`
    trigger_ms: int = 1_000
    kafka: dict[str, str] = {}  # client properties (security, isolation level)
    spark: dict[str, str] = {}  # settings of the session
    sources: tuple[Source, ...]
    steps: tuple[Step, ...] = ()
    outputs: tuple[Output, ...]
    restart: Restart = Restart()
    directory: str = "."  # what relative paths are relative to: the file's own directory
    path: str = ""  # the file itself, for messages
