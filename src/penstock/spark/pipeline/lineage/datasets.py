"""Names datasets as OpenLineage does: a namespace, which is the place, and a name in it. No I/O."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import msgspec

from penstock.spark.pipeline.core import model
from penstock.spark.pipeline.core.graph import upstream
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.queries import PlannedQuery
from penstock.spark.pipeline.outputs import TableTarget

Columns = Iterable[tuple[str, str]]  # name and type


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    columns: tuple[tuple[str, str], ...] = ()  # empty: unknown


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A query of the pipeline."""

    name: str
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


def jobs_of(
    pipeline: Pipeline,
    queries: Iterable[PlannedQuery],
    columns: Mapping[str, Columns],
    written: Mapping[str, Columns],
) -> dict[str, Job]:
    """Return the job of each query by its name. `columns` has those of each source, `written` of each output."""
    return {
        query.name: Job(
            name=query.name,
            inputs=_inputs(pipeline, query, columns),
            outputs=_outputs(pipeline, query, written),
        )
        for query in queries
    }


def _inputs(pipeline: Pipeline, query: PlannedQuery, columns: Mapping[str, Columns]) -> tuple[Dataset, ...]:
    read = upstream(pipeline, [query.rejecting if query.output is None else query.output.input])
    found: list[Dataset] = []
    for source in pipeline.sources:
        if source.name in read:
            known = tuple(columns.get(source.name, ()))
            if isinstance(source, model.TableSource):
                found.append(_table(pipeline, source.path, known))
            else:
                names = source.topics if source.pattern is None else (source.pattern,)
                found += [_topic(pipeline, name, known) for name in names]
    return tuple(found)


def _outputs(pipeline: Pipeline, query: PlannedQuery, written: Mapping[str, Columns]) -> tuple[Dataset, ...]:
    columns = tuple(written.get(query.output.name, ())) if query.output is not None else ()
    if query.writes_topic is not None:
        return (_topic(pipeline, query.writes_topic, columns),)
    if query.output is not None and isinstance(query.output.target, TableTarget):
        return (_table(pipeline, query.output.target.path, columns),)
    return ()


def _topic(pipeline: Pipeline, name: str, columns: tuple[tuple[str, str], ...]) -> Dataset:
    server = pipeline.bootstrap_servers.partition(",")[0].strip()
    return Dataset(namespace=f"kafka://{server}", name=name, columns=columns)


def _table(pipeline: Pipeline, path: str, columns: tuple[tuple[str, str], ...]) -> Dataset:
    resolved = pipeline.resolve(path)
    parts = urlsplit(resolved)
    if parts.scheme and parts.scheme != "file":
        return Dataset(
            namespace=f"{parts.scheme}://{parts.netloc}", name=parts.path.strip("/"), columns=columns
        )
    return Dataset(namespace="file", name=parts.path, columns=columns)
