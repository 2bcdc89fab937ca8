"""The Python form of a pipeline: the same parts as the YAML form, declared by calls.

    from penstock.spark.pipeline import define, json

    pipeline = define("payments", checkpoints="./state/payments")
    orders = pipeline.topic("orders", decode=json("orderId STRING NOT NULL, amount DOUBLE, at TIMESTAMP"))
    paid = pipeline.sql("paid", "SELECT orderId, amount FROM orders WHERE amount < 1000")

    @pipeline.step(orders)
    def big(frame):
        return frame.filter("amount >= 1000")

    pipeline.to_topic("payments", paid, key="orderId")
    pipeline.to_table("big_orders", big, path="./lake/big")

Every part gets its name where it is declared. Other parts read it by the value that the call returned, by its name, or,
if it is a decorated function, by the function. A wrong argument raises ValueError; `build` checks the parts together
and reports all problems at once.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any, TypedDict, TypeVar, Unpack

import msgspec
from msgspec.structs import replace

from penstock.spark.decode.settings import Decoder, RawDecoder
from penstock.spark.encode.settings import Encoder
from penstock.spark.pipeline.core import model
from penstock.spark.pipeline.core.model import Expectation, PythonFunction, Watermark
from penstock.spark.pipeline.outputs import ConsoleTarget, TableTarget, TopicTarget
from penstock.spark.pipeline.python.parts import expect as expectation
from penstock.spark.pipeline.python.parts import make_struct, validated
from penstock.spark.pipeline.rules.assemble import assemble

F = TypeVar("F", bound=Callable[..., Any])


class Named(msgspec.Struct, frozen=True):
    """A source or step that has been declared."""

    name: str


Readable = Named | str | PythonFunction
Expectations = Iterable[Expectation | str]


class StepOptions(TypedDict, total=False):
    """Arguments that every kind of step takes."""

    watermark: Watermark | None
    expect: Expectations


class OutputOptions(TypedDict, total=False):
    """Arguments that every kind of output takes."""

    mode: str  # append (the default), update, complete; of tables also upsert
    trigger: str | None


_RAW = RawDecoder()
_RESTART = model.Restart()


def define(
    name: str,
    *,
    bootstrap_servers: str = "127.0.0.1:9092",
    source_format: str = "penstock",
    checkpoints: str = "",
    checkpoint_options: Mapping[str, str] | None = None,
    dead_letter_topic: str = "",
    trigger: str = "1 second",
    kafka: Mapping[str, str] | None = None,
    spark: Mapping[str, str] | None = None,
    restart: model.Restart = _RESTART,
    on_failure: model.OnFailure | None = None,
    history_topic: str = "",
    lineage: model.Lineage | None = None,
    maintain: model.Maintain | None = None,
) -> "PipelineDefinition":
    """Begin a pipeline. Its relative paths are relative to the file that calls this."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    path = frame.f_code.co_filename if frame is not None else ""
    draft = make_struct(
        model.Pipeline,
        line=frame.f_lineno if frame is not None else 0,
        name=name,
        bootstrap_servers=bootstrap_servers,
        source_format=source_format,
        checkpoints=checkpoints,
        checkpoint_options=checkpoint_options,
        dead_letter_topic=dead_letter_topic,
        trigger=trigger,
        kafka=kafka,
        spark=spark,
        sources=(),
        outputs=(),
        restart=restart,
        on_failure=on_failure,
        history_topic=history_topic,
        lineage=lineage,
        maintain=maintain,
        directory=os.path.dirname(path) or ".",
        path=path,
    )
    return PipelineDefinition(draft)


class PipelineDefinition:
    """Collects the parts of one pipeline. Created by `define`."""

    def __init__(self, draft: model.Pipeline) -> None:
        self._draft = draft
        self._sources: list[model.Source] = []
        self._steps: list[model.Step] = []
        self._outputs: list[model.Output] = []
        self._functions: dict[PythonFunction, str] = {}

    def build(self) -> model.Pipeline:
        """Return the pipeline, or raise PipelineError with all that is wrong with it."""
        sources, steps, outputs = tuple(self._sources), tuple(self._steps), tuple(self._outputs)
        return assemble(replace(self._draft, sources=sources, steps=steps, outputs=outputs))

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
        """Read a topic, several, or all whose names match `pattern`; by default the topic called `name`."""
        source = make_struct(
            model.TopicSource,
            line=self._line(),
            name=name,
            topics=topic or (() if pattern is not None else name),
            pattern=pattern,
            decoder=decode,
            starting=starting,
            max_offsets_per_trigger=max_offsets_per_trigger,
            watermark=watermark,
            expectations=_expectations(expect),
            options=options,
        )
        return self._add_source(source)

    def table(
        self,
        name: str,
        path: str,
        *,
        table_format: str = "delta",
        catalog: str | Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Named:
        """Read a table, anew in each batch: the static side of joins."""
        given = {"path": path, "format": table_format, "catalog": _catalog(catalog), "options": options}
        return self._add_source(make_struct(model.TableSource, line=self._line(), name=name, **given))

    def _add_source(self, source: model.Source) -> Named:
        self._sources.append(source)
        return Named(source.name)

    # -- steps

    def sql(self, name: str, query: str, **options: Unpack[StepOptions]) -> Named:
        """Run SQL over any sources and steps by their names."""
        return self._add_step(name, (), model.SqlStep(query=query), **options)

    def filter(self, name: str, source: Readable, condition: str, **options: Unpack[StepOptions]) -> Named:
        return self._add_step(name, (source,), model.FilterStep(condition=condition), **options)

    def python(
        self,
        name: str,
        *sources: Readable,
        function: str | PythonFunction,
        **options: Unpack[StepOptions],
    ) -> Named:
        """Call a function with the frames of the sources; it returns a frame. `file.py:name` names one."""
        return self._add_step(name, sources, model.PythonStep(function=function), **options)

    def step(
        self, *sources: Readable, name: str | None = None, **options: Unpack[StepOptions]
    ) -> Callable[[F], F]:
        """Declare a Python step by a decorator; it is called like the function unless `name` is given."""

        def declare(function: F) -> F:
            chosen = name or function.__name__
            self._functions[function] = chosen
            self.python(chosen, *sources, function=function, **options)
            return function

        return declare

    def dedupe(
        self,
        name: str,
        source: Readable,
        *,
        by: str | Iterable[str],
        within: str | None = None,
        **options: Unpack[StepOptions],
    ) -> Named:
        return self._add_step(name, (source,), make_struct(model.DedupeStep, by=by, within=within), **options)

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
        **options: Unpack[StepOptions],
    ) -> Named:
        """Aggregate over windows of `size`, one every `slide`; or over sessions that end after `session_gap`."""
        lengths = {"size": size, "slide": slide, "session_gap": session_gap}
        operation = make_struct(model.WindowStep, on=on, by=by, aggregates=aggregates, **lengths)
        return self._add_step(name, (source,), operation, **options)

    def join(
        self,
        name: str,
        left: Readable,
        right: Readable,
        *,
        on: str = "true",
        how: str = "inner",
        select: str = "*",
        **options: Unpack[StepOptions],
    ) -> Named:
        operation = make_struct(model.JoinStep, on=on, how=how, select=select)
        return self._add_step(name, (left, right), operation, **options)

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
        **options: Unpack[StepOptions],
    ) -> Named:
        """Run Spark's `transformWithState`: `processor` is a StatefulProcessor class."""
        modes = {"time_mode": time_mode, "output_mode": output_mode}
        operation = make_struct(model.StateStep, by=by, processor=processor, schema=schema, **modes)
        return self._add_step(name, (source,), operation, **options)

    def _add_step(
        self,
        name: str,
        sources: Iterable[Readable],
        operation: model.Operation,
        *,
        watermark: Watermark | None = None,
        expect: Expectations = (),
    ) -> Named:
        line = self._line()
        # The caller's line does not say where the text of a query begins.
        placed = operation if isinstance(operation, model.SqlStep) else replace(operation, line=line)
        self._steps.append(
            model.Step(
                line=line,
                name=name,
                inputs=tuple(self._name_of(source) for source in sources),
                operation=placed,
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
        encode: Encoder | None = None,
        encode_key: Encoder | None = None,
        **options: Unpack[OutputOptions],
    ) -> None:
        """Write to a topic, by default the topic with the name of the output."""
        target = make_struct(
            TopicTarget,
            topic=topic or name,
            key=key,
            value=value,
            headers=headers,
            delivery=delivery,
            partitions=partitions,
            encode=encode,
            encode_key=encode_key,
        )
        self.to(name, source, target, **options)

    def to_table(
        self,
        name: str,
        source: Readable,
        *,
        path: str,
        table_format: str | None = None,
        partition_by: str | Iterable[str] = (),
        merge_schema: bool = False,
        catalog: str | Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
        maintain: model.Maintain | None = None,
        key: str | Iterable[str] = (),
        order_by: str | Iterable[str] = (),
        delete_when: str | None = None,
        history: str = "none",
        delete_retention: str | None = None,
        **options: Unpack[OutputOptions],
    ) -> None:
        """Write to a table. The arguments from `key` on are for the modes `upsert` and `update`."""
        target = make_struct(
            TableTarget,
            path=path,
            format=table_format,
            partition_by=partition_by,
            merge_schema=merge_schema,
            catalog=_catalog(catalog),
            options=storage_options,
            maintain=maintain,
            key=key,
            order_by=order_by,
            delete_when=delete_when,
            history=history,
            delete_retention=delete_retention,
        )
        self.to(name, source, target, **options)

    def to_console(
        self, name: str, source: Readable, *, rows: int = 20, **options: Unpack[OutputOptions]
    ) -> None:
        self.to(name, source, ConsoleTarget(rows=rows), **options)

    def to(
        self,
        name: str,
        source: Readable,
        target: model.Target,
        *,
        mode: str = "append",
        trigger: str | None = None,
    ) -> None:
        """Write to a target of any kind."""
        line = self._line()
        output = make_struct(
            model.Output,
            line=line,
            name=name,
            input=self._name_of(source),
            target=replace(validated(target), line=line),
            mode=mode,
            trigger=trigger,
        )
        self._outputs.append(output)

    def _name_of(self, source: Readable) -> str:
        if isinstance(source, Named):
            return source.name
        if isinstance(source, str):
            return source
        if source not in self._functions:
            raise ValueError(f"{source!r} is not a step of this pipeline: decorate it with @pipeline.step(…)")
        return self._functions[source]

    def _line(self) -> int:
        """Return the line of the pipeline's own file that called this; 0 if another file did."""
        frame: FrameType | None = inspect.currentframe()
        while frame is not None and frame.f_code.co_filename != self._draft.path:
            frame = frame.f_back
        return frame.f_lineno if frame is not None else 0


def _catalog(given: str | Mapping[str, str] | None) -> Mapping[str, str] | None:
    return {"name": given} if isinstance(given, str) else given


def _expectations(expect: Expectations) -> tuple[Expectation, ...]:
    return tuple(expectation(each) if isinstance(each, str) else each for each in expect)
