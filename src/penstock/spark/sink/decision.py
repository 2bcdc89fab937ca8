"""The decision to commit a batch: which transactions it consists of, in a form that fits into committed offsets.

A decision is committed as offsets of the query's group, for the topic `__penstock_sinks`: the offset is the batch, the
metadata of partition 0, 1, 2... is the text below, cut into pieces of at most 4096 characters (Kafka's
`offset.metadata.max.bytes`). A piece whose offset is another batch is what an earlier, longer decision left behind.

That a decision has been carried out is committed too, for the partition after the pieces: batch and run id.

    text     "1 <number of pieces> <base64 of the deflated body>"
    body     length and UTF-8 bytes of the run id
             the number of members, then their numbers, producer ids and epochs, column by column
             the number of idle ids, then their numbers
    integer  zigzag varint; within a column each value is the difference from the one before

Members are the transactions to commit. Idle are ids whose tasks have finished without one. Both may be used again by
the next batch of the same run, and nobody but that batch will touch them: an id of a task that was lost is in neither,
and is never used again.
"""

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from penstock.protocol.records.builder import encode_varint
from penstock.spark.sink.errors import DecisionTooLarge, SinkError
from penstock.spark.sink.identity import Run, Task

DECISIONS_TOPIC: Final = "__penstock_sinks"
PIECES_MAX: Final = 8
CARRIED_OUT: Final = PIECES_MAX
"""The partition whose offset is the batch, and whose metadata the run, that was carried out last."""
PARTITIONS: Final = PIECES_MAX + 1
_PIECE_CHARACTERS: Final = 4096
_FORMAT: Final = "1"


class Member(NamedTuple):
    """A transaction: the number in its transactional id, and who wrote it."""

    number: int
    producer_id: int
    epoch: int


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    batch_id: int
    run_id: str
    members: tuple[Member, ...] = ()
    idle: tuple[int, ...] = ()
    is_carried_out: bool = False

    @property
    def reusable(self) -> tuple[int, ...]:
        """Numbers of ids that the tasks of the next batch may use, one each."""
        return (*(member.number for member in self.members), *self.idle)


def number_for(task: Task, last: Decision | None) -> int:
    """The number of the transactional id that a task writes with.

    The ids of a broker are kept for a week, so a stream must not use new ones for every batch. A first attempt takes
    the reusable id at its own place, which no other task has; every other one a new id.
    """
    if last is not None and last.run_id == task.run.run_id and task.attempt == 0:
        reusable = last.reusable
        if task.partition < len(reusable):
            return reusable[task.partition]
    return task.number


def decide(
    run: Run,
    batch_id: int,
    *,
    members: Sequence[Member],
    idle: Sequence[int],
    task_count: int,
    last: Decision | None,
) -> Decision:
    """The decision for the tasks that have finished; ids that had no task this time stay reusable."""
    spare: tuple[int, ...] = ()
    if last is not None and last.run_id == run.run_id:
        spare = last.reusable[task_count:]
    return Decision(batch_id=batch_id, run_id=run.run_id, members=tuple(members), idle=(*idle, *spare))


# -- as text -----------------------------------------------------------------------------------------------


def to_pieces(decision: Decision) -> list[str]:
    """The metadata for partition 0, 1, 2..."""
    run_id = decision.run_id.encode()
    body = bytearray(encode_varint(len(run_id)) + run_id)
    body += encode_varint(len(decision.members))
    for column in zip(*decision.members, strict=True):
        body += _deltas(column)
    body += encode_varint(len(decision.idle)) + _deltas(decision.idle)
    payload = base64.b64encode(zlib.compress(bytes(body), 9)).decode()
    for count in range(1, PIECES_MAX + 1):
        text = f"{_FORMAT} {count} {payload}"
        if len(text) <= count * _PIECE_CHARACTERS:
            return [text[i : i + _PIECE_CHARACTERS] for i in range(0, len(text), _PIECE_CHARACTERS)]
    raise DecisionTooLarge(
        f"batch {decision.batch_id} was written by {len(decision.members)} tasks, more than a batch can have that is "
        f"written exactly once: write fewer partitions, for instance with coalesce(1000)"
    )


def from_offsets(committed: Mapping[int, tuple[int, str]]) -> Decision | None:
    """What these committed offsets (by partition, each with its metadata) say; None: nothing was decided yet."""
    if 0 not in committed:
        return None
    batch_id, first = committed[0]
    form, _, rest = first.partition(" ")
    count, _, start = rest.partition(" ")
    if form != _FORMAT or not count.isdigit():
        raise SinkError(
            f"batch {batch_id} was decided by a newer Penstock, or the offsets of its group were changed by hand: "
            f"{first[:40]!r} cannot be read"
        )
    later = [committed.get(piece, (-1, "")) for piece in range(1, int(count))]
    if any(each != batch_id for each, _ in later):
        raise SinkError(f"the decision on batch {batch_id} is incomplete: its offsets were changed by hand")
    body = zlib.decompress(base64.b64decode(start + "".join(text for _, text in later)))
    decision = _from_body(batch_id, body)
    is_carried_out = committed.get(CARRIED_OUT) == (batch_id, decision.run_id)
    return msgspec.structs.replace(decision, is_carried_out=is_carried_out)


def _from_body(batch_id: int, body: bytes) -> Decision:
    size, position = _read(body, 0)
    run_id = body[position : position + size].decode()
    count, position = _read(body, position + size)
    columns = []
    for _ in range(3 if count else 0):
        column, position = _undelta(body, position, count)
        columns.append(column)
    idle_count, position = _read(body, position)
    idle, _ = _undelta(body, position, idle_count)
    members = tuple(Member(*row) for row in zip(*columns, strict=True))
    return Decision(batch_id=batch_id, run_id=run_id, members=members, idle=tuple(idle))


def _deltas(values: Iterable[int]) -> bytes:
    out = bytearray()
    before = 0
    for value in values:
        out += encode_varint(value - before)
        before = value
    return bytes(out)


def _undelta(body: bytes, position: int, count: int) -> tuple[list[int], int]:
    values = []
    value = 0
    for _ in range(count):
        delta, position = _read(body, position)
        value += delta
        values.append(value)
    return values, position


def _read(body: bytes, position: int) -> tuple[int, int]:
    shift = raw = 0
    while True:
        byte = body[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), position
        shift += 7
