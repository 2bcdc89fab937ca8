"""The model of a pipeline: sources, steps, outputs. The YAML form and the Python form both create these values.

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

Fields are keys of the YAML file; a field `delay_ms` is the key `delay`, written as a duration. `Annotated[str, (…)]`
lists the words that a field accepts. `line` is the line in the file (0: unknown; of a SqlStep, the line where its text
begins), so that every error can name it.

Sources and steps share one namespace: each is a view that SQL can read, in any order in the file; in the model each
step comes after the steps that it reads. A frame that comes from a topic carries `_record` (topic, partition, offset,
timestamp, key, value, headers) while its steps keep that column; outputs drop it.
"""

import enum
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args

import msgspec

from penstock.spark.decode.settings import Decoder, RawDecoder
from penstock.spark.record_columns import RECORD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.encode.schemas import Place

STREAM_MODES = ("append", "update", "complete")  # Spark's
UPSERT = "upsert"
OUTPUT_MODES = (*STREAM_MODES, UPSERT)


class Shorthand(msgspec.Struct, frozen=True):
    """Annotates a mapping: a single text in a file is the value of this key."""

    key: str


class Part(msgspec.Struct, frozen=True, kw_only=True):
    line: int = 0


# -- expectations


class Otherwise(enum.Enum):
    WARN = "warn"
    DROP = "drop"
    DEAD_LETTER = "dead-letter"
    STOP = "stop"


class Expectation(Part, frozen=True, kw_only=True):
    name: str = ""
    rule: str  # a SQL condition; null counts as broken
    otherwise: Otherwise = Otherwise.DEAD_LETTER


def rejects(expectations: Iterable[Expectation]) -> bool:
    return any(each.otherwise is Otherwise.DEAD_LETTER for each in expectations)


class Watermark(Part, frozen=True, kw_only=True):
    column: str
    delay_ms: int


# -- sources


class TopicSource(Part, frozen=True, kw_only=True):
    name: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None  # instead of `topics`
    decoder: Decoder = RawDecoder()
    starting: str = "earliest"  # earliest, latest, offsets as JSON, or a time in ISO 8601
    max_offsets_per_trigger: int | None = None
    watermark: Watermark | None = None
    expectations: tuple[Expectation, ...] = ()
    options: dict[str, str] = {}  # passed to the Spark source unchanged

    def reads(self, topic: str) -> bool:
        if self.pattern is not None:
            return re.fullmatch(self.pattern, topic) is not None
        return topic in self.topics


class TableSource(Part, frozen=True, kw_only=True):
    """A table that each batch reads anew: the static side of a join."""

    name: str
    path: str
    format: str = "delta"  # one of TABLE_FORMATS, or any format that Spark reads
    catalog: Annotated[dict[str, str], Shorthand("name")] = {}  # of Iceberg; pyiceberg's properties
    options: dict[str, str] = {}  # of the reader, and of the object store


Source = TopicSource | TableSource


# -- steps

PythonFunction = Callable[..., Any]


class StepKind(Part, frozen=True, kw_only=True):
    kind: ClassVar[str]  # its key in a YAML file
    shorthand: ClassVar[str] = ""  # the field that a value that is no mapping sets


class SqlStep(StepKind, frozen=True, kw_only=True):
    """SQL over other sources and steps; its inputs are found in the text."""

    kind = "sql"
    shorthand = "query"

    query: str


class FilterStep(StepKind, frozen=True, kw_only=True):
    kind = "filter"
    shorthand = "condition"

    condition: str


class PythonStep(StepKind, frozen=True, kw_only=True):
    """`function(frame, …)` gets the frames of `inputs` in order and returns a frame."""

    kind = "python"
    shorthand = "function"

    function: str | PythonFunction  # "module:name" or "file.py:name" relative to the pipeline file


class DedupeStep(StepKind, frozen=True, kw_only=True):
    kind = "dedupe"
    shorthand = "by"

    by: tuple[str, ...]
    within_ms: int | None = None  # needs a watermark; without it, state grows without bound


class WindowStep(StepKind, frozen=True, kw_only=True):
    """Windows over event time; the result has `window_start`, `window_end`, `by` and the aggregates."""

    kind = "window"

    on: str
    size_ms: int | None = None
    slide_ms: int | None = None
    session_gap_ms: int | None = None  # instead of size and slide
    by: tuple[str, ...] = ()
    aggregates: dict[str, str] = {}  # column -> SQL aggregate


class JoinStep(StepKind, frozen=True, kw_only=True):
    """`inputs` are left and right; `on` is a condition over them by their names (`left.id = right.id`)."""

    kind = "join"

    on: str = ""  # only a cross join has none
    how: Annotated[str, ("inner", "left", "right", "full", "left_semi", "left_anti", "cross")] = "inner"
    select: str = "*"


class StateStep(StepKind, frozen=True, kw_only=True):
    """Spark's `transformWithState` (in pandas): `processor` is a StatefulProcessor class."""

    kind = "state"

    by: tuple[str, ...]
    processor: str | type
    schema: str
    time_mode: Annotated[str, ("None", "ProcessingTime", "EventTime")] = "None"
    output_mode: Annotated[str, ("append", "update")] = "append"


Operation = SqlStep | FilterStep | PythonStep | DedupeStep | WindowStep | JoinStep | StateStep
OPERATIONS: tuple[type[Operation], ...] = get_args(Operation)


class Step(Part, frozen=True, kw_only=True):
    name: str
    inputs: tuple[str, ...]  # names of sources and other steps, in the order that the operation expects
    operation: Operation
    watermark: Watermark | None = None  # set on the input before the operation
    expectations: tuple[Expectation, ...] = ()  # checked on the result


# -- outputs: each is a separate streaming query


class Sink(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    options: dict[str, str]
    # In update mode, batches are written one by one, with their id in this option.
    batch_id_option: str | None = None


class Target(Part, frozen=True, kw_only=True):
    """The target of an output. A new kind of output is a subclass in `outputs`, listed in `outputs.TARGETS`."""

    kind: ClassVar[str]  # its key in a YAML file
    main: ClassVar[str] = ""  # the field that the value of that key sets; without one the value is `true`
    modes: ClassVar[tuple[str, ...]] = STREAM_MODES

    def sink(self, pipeline: "Pipeline") -> Sink:
        raise NotImplementedError(f"{type(self).__name__}.sink")

    def describe(self, partitions: Mapping[str, int] | None) -> str:
        """Describe the target in one line. `partitions` has the number of partitions of the topics that exist."""
        raise NotImplementedError(f"{type(self).__name__}.describe")

    def select(self, frame: "DataFrame") -> "DataFrame":
        """Return the frame to write. A ValueError says why it cannot be written."""
        return frame.drop(RECORD)

    def encode_rows(self, frame: "DataFrame", place: "Place") -> "DataFrame":  # noqa: ARG002 - subclasses use it
        """Add the columns that `select` writes, and with them the reasons why rows cannot be written."""
        return frame

    @property
    def rejects_rows(self) -> bool:
        """Whether rows that cannot be written are dead letters."""
        return False

    def check_rows(self, columns: Sequence[str], mode: str) -> None:
        """Raise a ValueError if rows with these columns cannot be written in this mode."""

    @property
    def is_for_each_topic(self) -> bool:
        """Whether there is one table for each topic of the source."""
        return False

    def problems(self) -> Iterator[str]:
        """Yield the errors that show without Spark and without a broker."""
        return iter(())

    def mode_problems(self, mode: str) -> Iterator[str]:
        """Yield why the target cannot be written in this mode."""
        if mode not in self.modes:
            yield (
                f"a {self.kind} cannot be written in {mode} mode: use `mode: {self.modes[0]}`, "
                "or write to another kind of output"
            )

    @property
    def writes_topic(self) -> str | None:
        return None

    def idempotent_write_options(self, write_id: str) -> dict[str, str]:  # noqa: ARG002 - subclasses use it
        """Return the options with which a batch write of this id is done once, however often it is tried."""
        return {}


class Compact(Part, frozen=True, kw_only=True):
    when_files: Annotated[int, msgspec.Meta(ge=2)] = 50  # this many small files
    target_mb: int = 128


class Maintain(Part, frozen=True, kw_only=True):
    """The rule by which the pipeline looks after a table."""

    compact: Compact = Compact()
    keep_versions_ms: int = 7 * 86_400_000
    every_ms: int = 600_000


class Output(Part, frozen=True, kw_only=True):
    name: str
    input: str
    target: Target
    mode: Annotated[str, OUTPUT_MODES] = "append"
    trigger_ms: int | None = None  # instead of the pipeline's

    @property
    def stream_mode(self) -> str:
        """Spark's output mode: changes for an upsert are rows that the stream appends."""
        return "append" if self.mode == UPSERT else self.mode


class Restart(Part, frozen=True, kw_only=True):
    """The number of restarts of a failed query, with a pause that doubles."""

    attempts: Annotated[int, msgspec.Meta(ge=0)] = 5
    within_ms: int = 600_000  # older failures do not count
    backoff_ms: int = 1_000


class OnFailure(Part, frozen=True, kw_only=True):
    """The receivers of failures: a webhook (POST, JSON), a command (JSON on its standard input), or both."""

    url: str | None = None
    headers: dict[str, str] = {}  # of the webhook
    command: str | None = None
    restarts: bool = False  # also when a query fails and is restarted
    timeout_ms: int = 10_000


class Lineage(Part, frozen=True, kw_only=True):
    """The receiver of OpenLineage events: a file, a URL or a topic."""

    file: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}  # of the URL
    topic: str | None = None
    namespace: str = "penstock"  # of the jobs
    interval_ms: int = 60_000  # of the events while a query runs


NO_HISTORY = "none"


class Pipeline(Part, frozen=True, kw_only=True):
    name: str
    bootstrap_servers: str = "127.0.0.1:9092"
    source_format: Annotated[str, ("penstock", "kafka")] = "penstock"  # kafka: Spark's own connector
    checkpoints: str = ""  # a directory or a URL; empty: `.penstock/<name>` beside the file
    checkpoint_options: dict[str, str] = {}  # of the object store at that URL
    dead_letter_topic: str = ""  # empty: `<name>.dlq`
    trigger_ms: int = 1_000
    kafka: dict[str, str] = {}  # client properties (security, isolation level)
    spark: dict[str, str] = {}  # settings of the session
    sources: tuple[Source, ...]
    steps: tuple[Step, ...] = ()
    outputs: tuple[Output, ...]
    maintain: Maintain | None = None  # of all tables whose output has no rule of its own
    restart: Restart = Restart()
    on_failure: OnFailure | None = None
    history_topic: str = ""  # of the runs; empty: `<name>.runs`; NO_HISTORY: none is kept
    lineage: Lineage | None = None
    directory: str = "."  # the directory of the file, to which paths are relative
    path: str = ""  # the file itself, for messages

    @property
    def file(self) -> str:
        return self.path or self.name

    @property
    def client_options(self) -> dict[str, str]:
        """The options with which every source and sink connects to the brokers."""
        given = {f"kafka.{name.removeprefix('kafka.')}": value for name, value in self.kafka.items()}
        return {**given, "kafka.bootstrap.servers": self.bootstrap_servers}

    def resolve(self, path: str) -> str:
        return path if "://" in path else os.path.abspath(os.path.join(self.directory, path))
