"""Writes the outputs of a group whose outputs share their reads (docs/adr/0027-read-once.md).

Spark calls `SharedBatches` with each batch of the source, decoded; for a group with one output, with its rows. The
outputs in step are written one after the other, dead letters last. One that refuses the batch is behind from then on;
the batch is finished without it, and a thread writes what it misses (`catch_up`). If all of them refuse a batch the
query fails, and the batch is replayed.
"""

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.queries import PlannedQuery, QueryGroup
from penstock.spark.pipeline.progress.batch import REJECTED_METRICS, Counts, Offsets, Progress, with_counts
from penstock.spark.pipeline.run.checkpoint_copy import CheckpointCopy
from penstock.spark.pipeline.run.group_state import GroupState
from penstock.spark.pipeline.run.outputs import compile_batch, frame_of, writer_of
from penstock.spark.pipeline.run.positions import Position, in_step, refused
from penstock.spark.pipeline.run.writers import OutputIdentity, OutputWriter

_JOIN_TIMEOUT_S = 30.0
_RESULTS_MAX = 100


@dataclass
class Member:
    """One output of a group in this start of its query."""

    planned: PlannedQuery
    writer: OutputWriter
    worker: threading.Thread | None = None  # writes what it misses
    is_working: bool = False  # the worker writes a batch


@dataclass(frozen=True)
class BatchResult:
    counts: Mapping[str, Counts]  # of each output that has the batch, by its name; every rule is counted once
    passes: int  # how often the batch was read


OnRefusal = Callable[[Member, Exception], None]


class SharedBatches:
    """`on_refusal` is called for an output that is behind from this batch on. `copy` is of the group's checkpoint."""

    on_refusal: OnRefusal

    def __init__(
        self, pipeline: Pipeline, group: QueryGroup, state: GroupState, copy: CheckpointCopy | None = None
    ) -> None:
        self.pipeline = pipeline
        self.group = group
        self.state = state
        self._copy = copy
        self.changed = threading.Condition()
        self.end: Offsets = state.newest_end()  # of the newest batch that has begun
        self.is_stopping = False
        self.run_id = str(uuid.uuid4())
        self.members = [
            Member(planned, self.writer(planned, state.positions[planned.key].identity))
            for planned in group.members
        ]
        self._had_rejects = False
        self._results: dict[int, BatchResult] = {}

    def writer(self, planned: PlannedQuery, query_id: str) -> OutputWriter:
        return writer_of(self.pipeline, planned, OutputIdentity(query_id=query_id, run_id=self.run_id))

    def position(self, member: Member) -> Position:
        return self.state.positions[member.planned.key]

    # -- a batch

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        if self._copy is not None:
            self._copy.before_batch(batch_id)
        members = self._join(batch_id)
        outputs = [member for member in members if member.planned.output is not None]
        is_kept = len(outputs) > 1 or (self._had_rejects and len(members) > 1)
        with _kept(batch) if is_kept else contextlib.nullcontext(batch) as rows:
            counts, failures = self._write(members, rows, batch_id)
        if failures and (len(failures) == len(members) or self.is_stopping):
            raise failures[0][1]
        for member, failure in failures:
            self._refuse(member, batch_id, failure)
        rejects = (_rejects(each, member.planned) for each in counts.values() for member in members)
        self._had_rejects = any(rejects)
        passes = 1 if is_kept else max(1, len(counts))
        self._results[batch_id] = BatchResult(counts=counts, passes=passes)
        self._results.pop(batch_id - _RESULTS_MAX, None)

    def _write(
        self, members: Sequence[Member], rows: DataFrame, batch_id: int
    ) -> tuple[dict[str, Counts], list[tuple[Member, Exception]]]:
        """Return the new counts of each output that has the batch now, and the failures of the others."""
        frames = self._frames(rows)
        known: Counts = {}
        written: dict[str, Counts] = {}
        failures: list[tuple[Member, Exception]] = []
        for member in members:
            planned = member.planned
            if planned.output is None and _rejects(known, planned) == 0:
                continue
            try:
                observed = member.writer.write(frames(planned), batch_id)
            except Exception as failure:  # noqa: BLE001 - the other outputs are written
                failures.append((member, failure))
                continue
            written[planned.name] = {name: each for name, each in observed.items() if name not in known}
            known = {**observed, **known}
        return written, failures

    def _frames(self, rows: DataFrame) -> Callable[[PlannedQuery], DataFrame]:
        if self.group.has_one_member:
            return lambda _: rows
        return partial(frame_of, self.pipeline, compile_batch(rows, self.pipeline, self.group.shared_source))

    # -- outputs that are behind

    def _join(self, batch_id: int) -> list[Member]:
        """Return the outputs that write this batch: with those that have reached its start, in step again."""
        with self.changed:
            if not any(self.position(member).is_behind for member in self.members):
                return self.members
            start, self.end = self.state.span(batch_id)
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self._is_about_to_reach(start), _JOIN_TIMEOUT_S)
            for member in self.members:
                if self.position(member).reached == start and not member.is_working:
                    position = in_step(self.position(member))
                    self.state.save(member.planned.key, position)
                    # Its refused batch was written by another writer, which this one does not know of.
                    member.writer = self.writer(member.planned, position.identity)
            self.changed.notify_all()
            return [member for member in self.members if not self.position(member).is_behind]

    def _is_about_to_reach(self, start: Offsets) -> bool:
        pending = [self.position(member).pending for member in self.members if member.is_working]
        return any(batch is not None and batch.end == start for batch in pending)

    def _refuse(self, member: Member, batch_id: int, failure: Exception) -> None:
        with self.changed:
            start, self.end = self.state.span(batch_id)
            position = refused(self.position(member), batch_id, start, self.end)
            self.state.save(member.planned.key, position)
        self.on_refusal(member, failure)

    # -- progress

    def progress_of(self, progress: Progress) -> Iterator[Progress]:
        """Return the progress of each output from that of the query."""
        result = self._results.get(progress.batch_id)
        for member in self.members:
            name, position = member.planned.name, self.position(member)
            if position.is_behind:
                reached = position.reached if position.pending is None else position.pending.start
                yield replace(progress, query=name, input_rows=0, consumed=reached or {})
            elif result is None or self.group.has_one_member:  # it has Spark's own counts
                yield replace(progress, query=name)
            else:
                own = replace(progress, query=name, input_rows=progress.input_rows // result.passes)
                yield with_counts(own, result.counts.get(name, {}))


def _rejects(counts: Counts, planned: PlannedQuery) -> int | None:
    """Return how many dead letters there are for an output with dead letters; None if it is not known."""
    counted = counts.get(REJECTED_METRICS + planned.rejecting)
    return None if counted is None else sum(counted.values())


@contextlib.contextmanager
def _kept(batch: DataFrame) -> Iterator[DataFrame]:
    """Read and decode the batch once for several outputs."""
    batch.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield batch
    finally:
        batch.unpersist()
