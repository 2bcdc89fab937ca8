"""The stored state of a group whose outputs share their reads.

    <checkpoints>/_source.<source>/            the checkpoint of Spark's query
        start.json                             the offsets with which batch 0 begins
        outputs/<output>.json                  a Position

The first start writes the positions, then `start.json`. Checkpoints of single outputs, as Penstock wrote them before,
are continued: the group begins at the furthest of them, and the other outputs catch up from where they are.
"""

from collections.abc import Callable, Sequence

import msgspec

from penstock.spark.pipeline.core.problems import PipelineError, Problem
from penstock.spark.pipeline.core.queries import PlannedQuery
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.run.checkpoints import CheckpointFiles, QueryLog
from penstock.spark.pipeline.run.positions import OwnBatch, Position, furthest, in_step, new_position


class GroupState:
    """`first_offsets` looks up where the file says that the source starts."""

    def __init__(
        self,
        files: CheckpointFiles,
        key: str,
        members: Sequence[PlannedQuery],
        first_offsets: Callable[[], Offsets],
    ) -> None:
        self._files = files
        self._key = key
        self._log = QueryLog(files, key)
        self._first_offsets = first_offsets
        self.positions = self._open(members)

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
        self.positions[member] = position
        self._files.write(self._position_path(member), msgspec.json.encode(position).decode())

    def _end_of(self, batch_id: int) -> Offsets:
        return self._log.ends(batch_id)[0] if batch_id >= 0 else self.start

    @property
    def _start_path(self) -> str:
        return f"{self._key}/start.json"

    def _position_path(self, member: str) -> str:
        return f"{self._key}/outputs/{member}.json"

    # -- opening

    def _open(self, members: Sequence[PlannedQuery]) -> dict[str, Position]:
        self.positions = {}
        if self._files.read(self._start_path) is None:
            self._begin(members)
        for member in members:
            text = self._files.read(self._position_path(member.key))
            if text is not None:
                self.positions[member.key] = msgspec.json.decode(text, type=Position)
            else:
                self.save(member.key, self._continued(member) or new_position(reached=self._first_offsets()))
        return self.positions

    def _begin(self, members: Sequence[PlannedQuery]) -> None:
        continued = {member.key: self._continued(member) for member in members}
        known = [position for position in continued.values() if position is not None]
        start = furthest(_reaches(position) for position in known) if known else self._first_offsets()
        for key, position in continued.items():
            self.save(key, self._first_position(position, start))
        self._files.write(self._start_path, msgspec.json.encode(start).decode())

    def _first_position(self, continued: Position | None, start: Offsets) -> Position:
        position = continued or new_position(reached=self._first_offsets())
        is_there = position.pending is None and position.reached == start
        return in_step(position) if is_there else position

    def _continued(self, member: PlannedQuery) -> Position | None:
        """Return the position of an output that had a checkpoint of its own."""
        log = QueryLog(self._files, member.key)
        planned, finished = log.last_planned(), log.last_finished()
        query_id = log.query_id()
        if query_id is None or planned < 0:
            return None
        ends = {batch: log.ends(batch) for batch in {planned, planned - 1, finished} if batch >= 0}
        if any(len(each) != 1 for each in ends.values()):
            raise PipelineError(
                member.name,
                [
                    Problem(
                        message=f"the checkpoint {member.key} does not say where output {member.name} is: it was "
                        "written by another form of the pipeline. Finish it with that form, or remove the "
                        "checkpoint to start again"
                    )
                ],
            )
        if planned == finished:
            return new_position(reached=ends[finished][0])
        start = ends[planned - 1][0] if planned else self._first_offsets()
        return new_position(
            pending=OwnBatch(query_id=query_id, batch_id=planned, start=start, end=ends[planned][0])
        )


def _reaches(position: Position) -> Offsets:
    if position.pending is not None:
        return position.pending.end
    return position.reached or {}
