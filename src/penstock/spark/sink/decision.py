"""The decision to commit a batch: the list of its transactions, encoded to fit into committed offsets.

A decision is committed as offsets of the query's group, for the topic `__penstock_sinks`: the offset is the batch, the
metadata of partition 0, 1, 2... is the text below, cut into pieces of at most 4096 characters (Kafka's
`offset.metadata.max.bytes`). Ignore pieces with the offset of another batch: an earlier, longer decision left them.

When a decision has been applied, its batch and run id are committed for the partition after the pieces.

    text     "1 <number of pieces> <base64 of the deflated body>"
    body     length and UTF-8 bytes of the run id
             the number of members, then their numbers, producer ids and epochs, column by column
             the number of idle ids, then their numbers
    integer  zigzag varint; within a column each value is the difference from the one before

Members are the transactions to commit. Idle are ids whose tasks finished without one. Only the next batch of the same
run uses both again. The id of a lost task is in neither list, and is never used again.
"""

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from penstock.protocol.records.builder import encode_varint
from penstock.protocol.records.record import read_varlong
from penstock.spark.sink.errors import DecisionTooLarge, SinkError
from penstock.spark.sink.identity import Run, Task

DECISIONS_TOPIC: Final = "__penstock_sinks"
PIECES_MAX: Final = 8
APPLIED_PARTITION: Final = PIECES_MAX
"""The partition with the batch (offset) and the run (metadata) that were applied last."""
PARTITIONS: Final = PIECES_MAX + 1
_PIECE_CHARACTERS: Final = 4096
_FORMAT: Final = "1"


class Producer(NamedTuple):
    producer_id: int
    epoch: int


class Member(NamedTuple):
    """A transaction: the number in its transactional id, and its producer."""

    number: int
    producer_id: int
    epoch: int

    @property
    def producer(self) -> Producer:
        return Producer(self.producer_id, self.epoch)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    batch_id: int
    run_id: str
    members: tuple[Member, ...] = ()
    idle: tuple[int, ...] = ()
    is_applied: bool = False

    @property
    def reusable(self) -> tuple[int, ...]:
        """Return the numbers of ids that the tasks of the next batch may use, one each."""
        return (*(member.number for member in self.members), *self.idle)


def choose_id_number(task: Task, last: Decision | None) -> int:
    """Return the number of the transactional id that a task writes with.

    Brokers keep ids for a week, so a stream must not use new ones for every batch. A first attempt takes the reusable
    id at the index of its partition, which no other task uses; any other attempt takes a new id.
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
    """Build the decision for the finished tasks; ids without a task this time stay reusable."""
    spare: tuple[int, ...] = ()
    if last is not None and last.run_id == run.run_id:
        spare = last.reusable[task_count:]
    return Decision(batch_id=batch_id, run_id=run.run_id, members=tuple(members), idle=(*idle, *spare))


def encode_pieces(decision: Decision) -> list[str]:
    """Encode the metadata for partition 0, 1, 2..."""
    run_id = decision.run_id.encode()
    body = bytearray(encode_varint(len(run_id)) + run_id)
    body += encode_varint(len(decision.members))
    for column in zip(*decision.members, strict=True):
        body += _encode_deltas(column)
    body += encode_varint(len(decision.idle)) + _encode_deltas(decision.idle)
    payload = base64.b64encode(zlib.compress(bytes(body), 9)).decode()
    for count in range(1, PIECES_MAX + 1):
        text = f"{_FORMAT} {count} {payload}"
        if len(text) <= count * _PIECE_CHARACTERS:
            return [text[i : i + _PIECE_CHARACTERS] for i in range(0, len(text), _PIECE_CHARACTERS)]
    raise DecisionTooLarge(
        f"batch {decision.batch_id} has {len(decision.members)} tasks, too many to commit exactly once: "
        f"write fewer partitions, for instance with coalesce(1000)"
    )


def decode_offsets(committed: Mapping[int, tuple[int, str]]) -> Decision | None:
    """Decode committed offsets (by partition, with metadata); None if nothing was decided yet."""
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
    decision = _decode_body(batch_id, body)
    is_applied = committed.get(APPLIED_PARTITION) == (batch_id, decision.run_id)
    return msgspec.structs.replace(decision, is_applied=is_applied)


def _decode_body(batch_id: int, body: bytes) -> Decision:
    size, position = read_varlong(body, 0, len(body))
    run_id = body[position : position + size].decode()
    count, position = read_varlong(body, position + size, len(body))
    columns = []
    for _ in range(3 if count else 0):
        column, position = _decode_deltas(body, position, count)
        columns.append(column)
    idle_count, position = read_varlong(body, position, len(body))
    idle, _ = _decode_deltas(body, position, idle_count)
    members = tuple(Member(*row) for row in zip(*columns, strict=True))
    return Decision(batch_id=batch_id, run_id=run_id, members=members, idle=tuple(idle))


def _encode_deltas(values: Iterable[int]) -> bytes:
    out = bytearray()
    before = 0
    for value in values:
        out += encode_varint(value - before)
        before = value
    return bytes(out)


def _decode_deltas(body: bytes, position: int, count: int) -> tuple[list[int], int]:
    values = []
    value = 0
    for _ in range(count):
        delta, position = read_varlong(body, position, len(body))
        value += delta
        values.append(value)
    return values, position
