"""The stored state of a group whose outputs share their reads.

    <checkpoints>/_source.<source>/
        query/                     the checkpoint of Spark's query
        start.json                 the offsets with which batch 0 begins
        outputs/<output>.json      a Position

The first start writes the positions, then `start.json`. An output that had a checkpoint of its own is continued where
that ends: a new group begins at the furthest of its outputs, and the others catch up. The old checkpoint then gets a
file `continued`, with which it is never read again.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec
from msgspec.structs import replace

from penstock.spark.pipeline.core.problems import PipelineError, Problem
from penstock.spark.pipeline.core.queries import SHARED_PREFIX, PlannedQuery, QueryGroup
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.run.checkpoints import CheckpointFiles, QueryLog
from penstock.spark.pipeline.run.positions import (
    OwnBatch,
    Position,
    furthest,
    in_step,
    new_position,
    refused,
)

_CONTINUED = "continued"
_UNKNOWN_POSITION = (
    "the checkpoint {} does not say where its output is, because it was written with other sources: rename the output, "
    "or remove the checkpoint; both start it again from the source's start"
)
_SHARED_BEFORE = (
    "{} shared the reads of its source until now, and cannot go on by itself, as steps that keep state or a trigger of "
    "its own need it: rename the output, or remove {} from the checkpoints; both start it again from the source's start"
)


def position_path(key: str, member: str) -> str:
    return f"{key}/outputs/{member}.json"


def check_not_shared(files: CheckpointFiles, planned: PlannedQuery) -> None:
    """Raise PipelineError if this query, which reads by itself, shared the reads of a source before."""
    positions = [position_path(f"{SHARED_PREFIX}{source.name}", planned.key) for source in planned.reads]
    found = [path for path in positions if files.read(path) is not None]
    if files.read(f"{planned.key}/{_CONTINUED}") is not None:
        found.append(f"{planned.key}/")
    if found:
        message = _SHARED_BEFORE.format(planned.name, " and ".join(found))
        raise PipelineError(planned.name, [Problem(message=message)])


class GroupState:
    """`first_offsets` looks up where a member starts; given no key, where the file says that the source starts."""

    def __init__(
        self,
        files: CheckpointFiles,
        group: QueryGroup,
        first_offsets: Callable[[str], Offsets],
    ) -> None:
        self._files = files
        self._key = group.key
        self._log = QueryLog(files, group.checkpoint)
        self._first_offsets = first_offsets
        self.positions = self._open(group.members)

    @property
    def start(self) -> Offsets:
        """The offsets with which batch 0 begins."""
        text = self._files.read(self._start_path)
        assert text is not None, "the group was opened"
        return msgspec.json.decode(text, type=Offsets)

    @property
    def is_unfinished(self) -> bool:
        """Whether batch 0 is still to be done, so that the query needs to know where to start."""
        return self._log.last_finished() < 0

    def end(self) -> Offsets:
        """Return the offsets up to which the group has finished its batches."""
        return self._end_of(self._log.last_finished())

    def newest_end(self) -> Offsets:
        """Return the offsets up to which any output may have written: one may have a batch that is to be replayed."""
        return furthest([self.end(), *map(_reaches, self.positions.values())])

    def span(self, batch_id: int) -> tuple[Offsets, Offsets]:
        """Return where a planned batch starts and ends."""
        return self._end_of(batch_id - 1), self._end_of(batch_id)

    def save(self, member: str, position: Position) -> None:
        """Store the position; until that is done the one before holds."""
        self._files.write(self._position_path(member), msgspec.json.encode(position).decode())
        self.positions[member] = position

    def _end_of(self, batch_id: int) -> Offsets:
        return self._log.ends(batch_id)[0] if batch_id >= 0 else self.start

    @property
    def _start_path(self) -> str:
        return f"{self._key}/start.json"

    def _position_path(self, member: str) -> str:
        return position_path(self._key, member)

    # -- opening

    def _open(self, members: Sequence[PlannedQuery]) -> dict[str, Position]:
        self.positions = {}
        if self._files.read(self._start_path) is None:
            self._begin(members)
        self._leave_behind({member.key for member in members})
        for member in members:
            text = self._files.read(self._position_path(member.key))
            if text is not None:
                self.positions[member.key] = msgspec.json.decode(text, type=Position)
            else:
                self.save(member.key, self._continued(member) or self._added(member.key))
            self._retire_checkpoint(member)
        return self.positions

    def _added(self, key: str) -> Position:
        """Return the position of an output that is new in the group: it catches up from where it starts."""
        return new_position(reached=self._first_offsets(key))

    def _retire_checkpoint(self, member: PlannedQuery) -> None:
        mark = f"{member.key}/{_CONTINUED}"
        if QueryLog(self._files, member.key).query_id() is not None and self._files.read(mark) is None:
            self._files.write(mark, f"in {self._key}")

    def _leave_behind(self, members: Collection[str]) -> None:
        """Store where outputs are that this run goes on without: they are not in the file any more, or refused."""
        for name in self._files.names(f"{self._key}/outputs"):
            output = name.removesuffix(".json")
            text = None if output in members else self._files.read(self._position_path(output))
            position = None if text is None else msgspec.json.decode(text, type=Position)
            if position is not None and not position.is_behind:
                self.save(output, self._left_behind(position))

    def _left_behind(self, position: Position) -> Position:
        planned = self._log.last_planned()
        if planned > self._log.last_finished():  # it may have this batch already, under its identity
            return refused(position, planned, *self.span(planned))
        return replace(position, reached=self.end())

    def _begin(self, members: Sequence[PlannedQuery]) -> None:
        continued = {member.key: self._continued(member) for member in members}
        known = [position for position in continued.values() if position is not None]
        start = furthest(_reaches(position) for position in known) if known else self._first_offsets("")
        for key, position in continued.items():
            self.save(key, self._first_position(key, position, start))
        self._files.write(self._start_path, msgspec.json.encode(start).decode())

    def _first_position(self, key: str, continued: Position | None, start: Offsets) -> Position:
        position = continued or new_position(reached=self._first_offsets(key))
        is_there = position.pending is None and position.reached == start
        return in_step(position) if is_there else position

    def _continued(self, member: PlannedQuery) -> Position | None:
        """Return the position of an output that had a checkpoint of its own."""
        log = QueryLog(self._files, member.key)
        planned, finished = log.last_planned(), log.last_finished()
        query_id = log.query_id()
        if query_id is None or planned < 0 or self._files.read(f"{member.key}/{_CONTINUED}") is not None:
            return None
        ends = {batch: log.ends(batch) for batch in {planned, planned - 1, finished} if batch >= 0}
        if any(len(each) != 1 for each in ends.values()):
            raise PipelineError(
                member.name,
                [Problem(message=_UNKNOWN_POSITION.format(member.key))],
            )
        if planned == finished:
            return new_position(reached=ends[finished][0])
        start = ends[planned - 1][0] if planned else self._first_offsets(member.key)
        return new_position(
            pending=OwnBatch(query_id=query_id, batch_id=planned, start=start, end=ends[planned][0])
        )


def _reaches(position: Position) -> Offsets:
    if position.pending is not None:
        return position.pending.end
    return position.reached or {}
