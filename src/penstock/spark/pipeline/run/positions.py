"""Where each output of a group is: in step with the group, or behind it. No I/O.

An output in step writes each batch of the group under `identity`. If it refuses one, it is behind: it writes that batch
again, with the same identity and the same offsets, and then batches of its own up to where the group is, under the
identity `catch_up`. When it has reached the start of a batch of the group, it is in step again.

    in step  -> behind    it refused a batch, it is new in the group, or a run went on without it
    behind   -> behind    it has written a batch of its own (`reached`), or begins one (`pending`)
    behind   -> in step   it has reached the start of the group's batch

The position is stored before what it says is done: a batch that is `pending` is written again after a crash, and the
target takes it once. Stored as JSON in `<checkpoint of the group>/outputs/<output>.json`.
"""

import uuid
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from penstock.spark.pipeline.progress.batch import Offsets


class OwnBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that one output writes by itself."""

    query_id: str
    batch_id: int
    start: Offsets
    end: Offsets

    @property
    def rows_max(self) -> int:
        return sum(
            end - self.start.get(topic, {}).get(partition, 0)
            for topic, partitions in self.end.items()
            for partition, end in partitions.items()
        )


class Position(msgspec.Struct, frozen=True, kw_only=True):
    identity: str  # the query id under which the target records batches of the group
    catch_up: str  # and that of own batches
    own_batches: int = 0
    pending: OwnBatch | None = None
    reached: Offsets | None = None  # everything before is written

    @property
    def is_behind(self) -> bool:
        return self.pending is not None or self.reached is not None


def new_position(*, reached: Offsets | None = None, pending: OwnBatch | None = None) -> Position:
    return Position(identity=str(uuid.uuid4()), catch_up=str(uuid.uuid4()), reached=reached, pending=pending)


def in_step(position: Position) -> Position:
    return replace(position, pending=None, reached=None)


def refused(position: Position, batch_id: int, start: Offsets, end: Offsets) -> Position:
    batch = OwnBatch(query_id=position.identity, batch_id=batch_id, start=start, end=end)
    return replace(position, pending=batch, reached=None)


def written(position: Position) -> Position:
    """The pending batch is committed."""
    assert position.pending is not None
    return replace(position, pending=None, reached=position.pending.end)


def with_next_batch(position: Position, end: Offsets) -> Position:
    """Begin the batch from where the output is to `end`, unless it is there, or starts at a later place."""
    reached = position.reached
    if position.pending is not None or reached is None:
        return position
    end = furthest([reached, end])
    if reached == end:
        return position
    batch = OwnBatch(query_id=position.catch_up, batch_id=position.own_batches, start=reached, end=end)
    return replace(position, pending=batch, own_batches=position.own_batches + 1)


def furthest(several: Iterable[Offsets]) -> Offsets:
    found: Offsets = {}
    for each in several:
        for topic, partitions in each.items():
            known = found.setdefault(topic, {})
            for partition, offset in partitions.items():
                known[partition] = max(offset, known.get(partition, 0))
    return found
