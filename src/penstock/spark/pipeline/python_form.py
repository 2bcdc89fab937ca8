"""The Python form of a pipeline: the same parts as the YAML form, made by calls.

    from penstock.spark.pipeline import define, json

    pipeline = define("payments", checkpoints="./state/payments")
    orders = pipeline.topic("orders", decode=json("orderId STRING NOT NULL, amount DOUBLE, at TIMESTAMP"))
    paid = pipeline.sql("paid", "SELECT orderId, amount FROM orders WHERE amount < 1000")

    @pipeline.step(orders)
    def big(frame):
        return frame.filter("amount >= 1000")

    pipeline.to_topic("payments", paid, key="orderId")
    pipeline.to_table("big_orders", big, path="./lake/big")

Every part is named where it is declared. Others read it by what the call gave, by its name, or, where it is a decorated
function, by the function. Arguments that are wrong by themselves raise ValueError; what is wrong between the parts is
told all at once by `build`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from penstock.spark.pipeline.assemble import assemble
from penstock.spark.pipeline.choices import (
    DELIVERIES,
    JOIN_KINDS,
    OUTPUT_MODES,
    OUTPUT_TABLE_FORMATS,
    STATE_OUTPUT_MODES,
    STATE_TIME_MODES,
)
from penstock.spark.pipeline.model import (
    ConsoleTarget,
    Decoder,
    DedupeStep,
    Expectation,
    FilterStep,
    JoinStep,
    Operation,
    Output,
    Pipeline,
    PythonFunction,
    PythonStep,
    RawDecoder,
    Source,
    SqlStep,
    StateStep,
    Step,
    TableSource,
    TableTarget,
    Target,
    TopicSource,
    TopicTarget,
    Watermark,
    WindowStep,
)
from penstock.spark.pipeline.python_caller import line_in
from penstock.spark.pipeline.python_parts import expect as expectation
from penstock.spark.pipeline.python_parts import many, one_of, optional_ms

F = TypeVar("F", bound=Callable[..., Any])


class Named(msgspec.Struct, frozen=True):
    """A source or step that has been declared."""

    name: str


_RAW = RawDecoder()

Readable = Named | str | PythonFunction
Expectations = Iterable[Expectation | str]


class PipelineDefinition:
    """Collects the parts of one pipeline. Made by `define`."""

    __slots__ = ("_draft", "_functions", "_outputs", "_sources", "_steps")

    def __init__(self, draft: Pipeline) -> None:
        self._draft = draft
        self._sources: list[Source] = []
        self._steps: list[Step] = []
        self._outputs: list[Output] = []
        self._functions: dict[PythonFunction, str] = {}

    def build(self) -> Pipeline:
        """The pipeline, or a PipelineError with all that is wrong with it."""
        return assemble(
            replace(
                self._draft,
                sources=tuple(self._sources),
                steps=tuple(self._steps),
                outputs=tuple(self._outputs),
            )
        )

    # -- sources

    def topic(
        self,
        name: str,
        *,
        topic: str | Iterable[str] = (),
        pattern: str | None = None,
        decode: Decoder = _RAW,
        starting: str = "earliest",
        max_offsets_per_trigger: int | None = None,
        watermark: Watermark | None = None,
        expect: Expectations = (),
        options: Mapping[str, str] | None = None,
    ) -> Named:
        """Records of a topic, of several, or of all whose names match `pattern`; without them, of topic `name`."""
        topics = many(topic) or (() if pattern is not None else (name,))
        return self._add_source(
            TopicSource(
                line=self._line(),
                name=name,
                topics=topics,
                pattern=pattern,
                decoder=decode,
                starting=starting,
                max_offsets_per_trigger=max_offsets_per_trigger,
                watermark=watermark,
                expectations=_expectations(expect),
                options=dict(options or {}),
            )
        )

    def table(
        self, name: str, path: str, *, table_format: str = "delta", options: Mapping[str, str] | None = None
    ) -> Named:
        """A table, read anew by each batch: the static side of joins."""
        return self._add_source(
            TableSource(
                line=self._line(), name=name, path=path, format=table_format, options=dict(options or {})
            )
        )

    def _add_source(self, source: Source) -> Named:
        self._sources.append(source)
        return Named(source.name)

    # -- steps

    def sql(
        self, name: str, query: str, *, watermark: Watermark | None = None, expect: Expectations = ()
    ) -> Named:
        """SQL over any sources and steps by their names."""
        return self._add_step(name, (), SqlStep(query=query), watermark=watermark, expect=expect)

    def filter(
        self,
        name: str,
        source: Readable,
        condition: str,
        *,
        watermark: Watermark | None = None,
        expect: Expectations = (),
    ) -> Named:
        return self._add_step(
            name, (source,), FilterStep(condition=condition), watermark=watermark, expect=expect
        )

    def python(
        self,
        name: str,
        *sources: Readable,
        function: str | PythonFunction,
        watermark: Watermark | None = None,
        expect: Expectations = (),
    ) -> Named:
        """A function that gets the frames of its sources and gives a frame: itself, or `file.py:name`."""
        operation = PythonStep(function=function)
        return self._add_step(name, sources, operation, watermark=watermark, expect=expect)

    def step(
        self,
        *sources: Readable,
        name: str | None = None,
        watermark: Watermark | None = None,
        expect: Expectations = (),
    ) -> Callable[[F], F]:
        """The same as a decorator: the step is called like the function unless `name` says otherwise."""

        def declare(function: F) -> F:
            chosen = name or function.__name__
            self._functions[function] = chosen
            self.python(chosen, *sources, function=function, watermark=watermark, expect=expect)
            return function

        return declare

    def dedupe(
        self,
        name: str,
        source: Readable,
        *,
        by: str | Iterable[str],
        within: str | None = None,
        watermark: Watermark | None = None,
        expect: Expectations = (),
    ) -> Named:
        operation = DedupeStep(by=many(by), within_ms=optional_ms(within))
        return self._add_step(name, (source,), operation, watermark=watermark, expect=expect)

    def window(
        self,
        name: str,
        source: Readable,
        *,
        on: str,
        aggregates: Mapping[str, str],
        size: str | None = None,
        slide: str | None = None,
        session_gap: str | None = None,
        by: str | Iterable[str] = (),
        watermark: Watermark | None = None,
        expect: Expectations = (),
    ) -> Named:
        """Windows of `size`, beginning every `slide`; or sessions that end after a pause of `session_gap`."""
        if (size is None) == (session_gap is None) or (slide is not None and size is None):
            raise ValueError("a window has either `size` (and `slide`) or `session_gap`")
        operation = WindowStep(
            on=on,
            size_ms=optional_ms(size) or 0,
            slide_ms=optional_ms(slide),
            session_gap_ms=optional_ms(session_gap),
            by=many(by),
            aggregates=dict(aggregates),
        )
        return self._add_step(name, (source,), operation, watermark=watermark, expect=expect)

    def join(
        self,
        name: str,
        left: Readable,
        right: Readable,
        *,
        on: str = "true",
        how: str = "inner",
        select: str = "*",
        watermark: Watermark | None = None,
        expect: Expectations = (),
    ) -> Named:
        operation = JoinStep(on=on, how=one_of("how", how, JOIN_KINDS), select=select)
        return self._add_step(name, (left, right), operation, watermark=watermark, expect=expect)

    def state(
        self,
        name: str,
        source: Readable,
        *,
        by: str | Iterable[str],
        processor: str | type,
        schema: str,
        time_mode: str = "None",
        output_mode: str = "append",
        watermark: Watermark | None = None,
        expect: Expectations = (),
    ) -> Named:
        """Spark's `transformWithState`: `processor` is a StatefulProcessor class."""
        operation = StateStep(
            by=many(by),
            processor=processor,
            schema=schema,
            time_mode=one_of("time_mode", time_mode, STATE_TIME_MODES),
            output_mode=one_of("output_mode", output_mode, STATE_OUTPUT_MODES),
        )
        return self._add_step(name, (source,), operation, watermark=watermark, expect=expect)

    def _add_step(
        self,
        name: str,
        sources: Iterable[Readable],
        operation: Operation,
        *,
        watermark: Watermark | None,
        expect: Expectations,
    ) -> Named:
        line = self._line()
        self._steps.append(
            Step(
                line=line,
                name=name,
                inputs=tuple(self._name_of(source) for source in sources),
                # Where the text of a query begins cannot be told from its caller.
                operation=operation if isinstance(operation, SqlStep) else replace(operation, line=line),
                watermark=watermark,
                expectations=_expectations(expect),
            )
        )
        return Named(name)

    # -- outputs

    def to_topic(
        self,
        name: str,
        source: Readable,
        *,
        topic: str = "",
        key: str | None = None,
        value: str | None = None,
        headers: Mapping[str, str] | None = None,
        delivery: str = "exactly-once",
        partitions: int | None = None,
        mode: str = "append",
        trigger: str | None = None,
    ) -> None:
        """An output to a topic; without `topic`, to the one that is called like the output."""
        target = TopicTarget(
            topic=topic or name,
            key=key,
            value=value,
            headers=dict(headers or {}),
            delivery=one_of("delivery", delivery, DELIVERIES),
            partitions=partitions,
        )
        self._add_output(name, source, target, mode=mode, trigger=trigger)

    def to_table(
        self,
        name: str,
        source: Readable,
        *,
        path: str,
        table_format: str = "delta",
        partition_by: str | Iterable[str] = (),
        merge_schema: bool = False,
        mode: str = "append",
        trigger: str | None = None,
    ) -> None:
        target = TableTarget(
            path=path,
            format=one_of("table_format", table_format, OUTPUT_TABLE_FORMATS),
            partition_by=many(partition_by),
            merge_schema=merge_schema,
        )
        self._add_output(name, source, target, mode=mode, trigger=trigger)

    def to_console(
        self,
        name: str,
        source: Readable,
        *,
        rows: int = 20,
        mode: str = "append",
        trigger: str | None = None,
    ) -> None:
        self._add_output(name, source, ConsoleTarget(rows=rows), mode=mode, trigger=trigger)

    def _add_output(
        self, name: str, source: Readable, target: Target, *, mode: str, trigger: str | None
    ) -> None:
        line = self._line()
        self._outputs.append(
            Output(
                line=line,
                name=name,
                input=self._name_of(source),
                target=replace(target, line=line),
                mode=one_of("mode", mode, OUTPUT_MODES),
                trigger_ms=optional_ms(trigger),
            )
        )

    # -- where things stand, and what they are called

    def _name_of(self, source: Readable) -> str:
        if isinstance(source, Named):
            return source.name
        if isinstance(source, str):
            return source
        if source not in self._functions:
            raise ValueError(f"{source!r} is no step of this pipeline: decorate it with @pipeline.step(…)")
        return self._functions[source]

    def _line(self) -> int:
        """The line of the pipeline's own file from which this was called."""
        return line_in(self._draft.path)


def _expectations(expect: Expectations) -> tuple[Expectation, ...]:
    return tuple(expectation(each) if isinstance(each, str) else each for each in expect)
