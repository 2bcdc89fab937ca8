"""Finds out which queries can be made of the batches of one source. Uses Spark's analysed plans.

A query can if everything between its source and itself works row by row: then the rows of a batch do not depend on
earlier batches, and a batch can be read again by its offsets. Plans are compared as text, which every kind of session
has: an operation that is not known here counts as one that keeps state.
"""

import re
from collections import Counter
from collections.abc import Sequence

from pyspark.sql import DataFrame

from penstock.spark.pipeline.compile.frames import Compiled
from penstock.spark.pipeline.core.graph import streaming_names, upstream
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.queries import PlannedQuery

_ROW_BY_ROW = {
    "CTERelationDef",
    "CTERelationRef",
    "CollectMetrics",
    "EventTimeWatermark",
    "Filter",
    "Generate",
    "MapInArrow",
    "MapInPandas",
    "Project",
    "PythonMapInArrow",
    "SubqueryAlias",
    "Union",
    "View",
    "WithCTE",
}
# The other side of a join with a table. A second stream would be another streaming relation, or another reference.
_TABLES = {"Join", "LocalRelation", "LogicalRDD", "Range", "Relation", "RelationV2"}
_NODE = re.compile(r"^[\s:|+\-*]*(~?\w+)")  # a tilde marks a stream


def sources_to_share(
    pipeline: Pipeline, queries: Sequence[PlannedQuery], compiled: Compiled
) -> dict[str, str]:
    """Return the source of each query that can be made of its batches, by the key of the query."""
    streaming = streaming_names(pipeline)
    found = {}
    for query in queries:
        topics = [source.name for source in query.reads]
        frames = [compiled.frames[each] for each in upstream(pipeline, [query.input]) & streaming]
        if len(topics) == 1 and (query.output is None or query.output.mode != "complete"):
            (source,) = topics
            before = _operations(compiled.decoded[source])
            if all(_is_row_by_row(before, frame) for frame in frames):
                found[query.key] = source
    return found


def _is_row_by_row(before: Counter[str], frame: DataFrame) -> bool:
    added = _operations(frame) - before
    if added["~Join"] and added["~CTERelationRef"] > added["~CTERelationDef"]:
        return False  # perhaps a join of the stream with itself
    return not {name.removeprefix("~") for name in added} - _ROW_BY_ROW - _TABLES


def _operations(frame: DataFrame) -> Counter[str]:
    """Count the operations of a plan."""
    plan = frame._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - Python has no API for plans
    return Counter(found[1] for line in plan.splitlines() if (found := _NODE.match(line)))
