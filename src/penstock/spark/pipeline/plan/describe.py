"""Describes the queries of a compiled pipeline: their sources, operators with state, targets. Uses Spark's plans.

Spark finds the state of an operator by its place in the query, and the offsets of a source too. So both are read from
the optimized plan, in its order. Expressions are compared as texts, without the numbers that Spark gives to columns.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from pyspark.sql import DataFrame

from penstock.spark.pipeline.compile.frames import Compiled
from penstock.spark.pipeline.compile.steps import is_remote
from penstock.spark.pipeline.core.graph import upstream
from penstock.spark.pipeline.core.model import Pipeline, TopicSource
from penstock.spark.pipeline.core.queries import PlannedQuery, dead_letter_topic
from penstock.spark.pipeline.core.secrets import redact
from penstock.spark.pipeline.plan.record import Columns, OperatorRecord, QueryRecord, SourceRecord
from penstock.spark.record_columns import RECORD

# The numbers of columns and views, and the delay of a watermark: it may change.
_NOT_COMPARED = re.compile(r"#\d+L?|penstock_view_\d+|-T\d+ms")
_NOT_DEFINING = re.compile(r"\bline=\d+(, )?| at 0x[0-9a-f]+")  # the line, and the address of a function
_WINDOW_TYPE = "struct<start:timestamp,end:timestamp>"
_STREAMING_RELATION = "StreamingRelationV2"
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


def describe_queries(
    pipeline: Pipeline, queries: Sequence[PlannedQuery], compiled: Compiled
) -> list[QueryRecord]:
    """Describe the queries that compiled."""
    found = []
    for query in queries:
        frames = compiled.rejected if query.output is None else compiled.outputs
        name = query.rejecting if query.output is None else query.output.name
        if name in frames:
            found.append(_describe(pipeline, query, frames[name]))
    return found


def _describe(pipeline: Pipeline, query: PlannedQuery, frame: DataFrame) -> QueryRecord:
    output = query.output
    names = upstream(pipeline, [query.rejecting if output is None else output.input])
    plan = _optimized(frame)
    partitions = frame.sparkSession.conf.get(_SHUFFLE_PARTITIONS, None)
    return QueryRecord(
        key=query.key,
        sources=_sources(query, plan),
        operators=None if plan is None else tuple(_operators(plan)),
        target=redact(output.target.describe(None) if output else f"topic {dead_letter_topic(pipeline)}"),
        mode="append" if output is None else output.mode,
        columns=tuple(
            (each.name, each.dataType.simpleString()) for each in frame.schema if each.name != RECORD
        ),
        parts={
            each.name: _definition(each)
            for each in (*pipeline.sources, *pipeline.steps)
            if each.name in names
        },
        shuffle_partitions=int(partitions) if partitions else None,
    )


def _optimized(frame: DataFrame) -> Any:
    """Return the plan of the frame without the columns that nothing reads; None with Spark Connect."""
    session = frame.sparkSession
    if is_remote(session):
        return None
    state = session._jsparkSession.sessionState()  # noqa: SLF001 - Python has no API for plans
    return state.optimizer().execute(frame._jdf.queryExecution().analyzed())  # noqa: SLF001


def _definition(part: msgspec.Struct) -> str:
    """Return the text of a part, without its lines in the file and without secrets."""
    return redact(_NOT_DEFINING.sub("", repr(part)))


def _sources(query: PlannedQuery, plan: Any) -> tuple[SourceRecord, ...]:
    """Return the streams in the order of the plan; one that is read twice is there twice."""
    known = {_subscription(source): _record(source) for source in query.reads}
    if plan is None:
        return tuple(known.values())
    found = []
    for node in _nodes(plan):
        if node.nodeName().startswith(_STREAMING_RELATION):
            options = node.extraOptions()
            text = options.get("subscribe") or options.get("subscribePattern")
            found.append(known.get(text) or SourceRecord(name=str(text), topics=(str(text),)))
    return tuple(found)


def _subscription(source: TopicSource) -> str:
    return source.pattern if source.pattern is not None else ",".join(source.topics)


def _record(source: TopicSource) -> SourceRecord:
    given = {name.replace("_", "").lower(): value for name, value in source.options.items()}
    return SourceRecord(
        name=source.name,
        topics=source.topics,
        pattern=source.pattern,
        leaves_losses_behind=given.get("failondataloss", "true").lower() == "false",
    )


def _operators(plan: Any) -> Iterator[OperatorRecord]:
    for node in _nodes(plan):
        kind = node.nodeName()
        if not node.isStreaming():
            continue
        if kind == "Aggregate":
            keys = _texts(node.groupingExpressions())
            yield OperatorRecord(
                kind=kind, keys=keys, values=_aggregates(node), windows=tuple(_windows(node))
            )
        elif kind.startswith("Deduplicate"):
            yield OperatorRecord(kind=kind, keys=_texts(node.keys()))
        elif kind == "Distinct":
            yield OperatorRecord(kind=kind, keys=_texts(node.output()))
        elif kind == "Join" and node.left().isStreaming() and node.right().isStreaming():
            condition = _text(node.condition())
            sides = (*_texts(node.left().output()), *_texts(node.right().output()))
            yield OperatorRecord(kind=f"{node.joinType().sql()} join", keys=((condition, ""),), values=sides)
        elif kind.startswith(
            ("TransformWithState", "FlatMapGroupsWithState", "FlatMapGroupsInPandasWithState")
        ):
            yield OperatorRecord(
                kind=kind, keys=_texts(node.children().apply(0).output()), values=_texts(node.output())
            )


def _aggregates(node: Any) -> Columns:
    found: dict[tuple[str, str], None] = {}
    for expression in _items(node.aggregateExpressions()):
        for each in _nodes(expression):
            if each.getClass().getSimpleName() == "AggregateExpression":
                found[_text(each), each.dataType().simpleString()] = None
    return tuple(found)


def _windows(node: Any) -> Iterator[str]:
    """Return how the time windows among the keys are made: their columns are all that the aggregate has of them."""
    if not any(kind == _WINDOW_TYPE for _, kind in _texts(node.groupingExpressions())):
        return
    for below in _nodes(node.children().apply(0)):
        lists = {
            "Project": lambda each: [each.projectList()],
            "Expand": lambda each: _items(each.projections()),
        }
        for expressions in lists.get(below.nodeName(), lambda _: [])(below):
            for each in _items(expressions):
                if each.dataType().simpleString() == _WINDOW_TYPE and each.children().size():
                    yield _text(each)


def _texts(expressions: Any) -> Columns:
    return tuple((_text(each), each.dataType().simpleString()) for each in _items(expressions))


def _text(expression: Any) -> str:
    return _NOT_COMPARED.sub("", expression.toString())


def _nodes(tree: Any) -> Iterator[Any]:
    yield tree
    for child in _items(tree.children()):
        yield from _nodes(child)


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]
