"""The format of dead letters. Pure, and without Spark: the command line reads dead letters too.

A dead letter is the rejected record itself: its key, its value byte for byte, and its headers, followed by headers that
Penstock adds, all text in UTF-8:

    dlq.pipeline    the pipeline that rejected it; the last header of this name is the first that Penstock added
    dlq.step        the source or step in it
    dlq.error       why
    dlq.topic       where the record was read: topic, partition, offset,
    dlq.partition
    dlq.offset
    dlq.timestamp   and its time, in milliseconds since 1970

So a replay is a copy without these headers. A row that no longer has a record when a step rejects it, such as an
aggregate, is written as JSON, without a key and without the last four headers; it cannot be replayed.
"""

from collections.abc import Sequence

import msgspec

PIPELINE = "dlq.pipeline"
STEP = "dlq.step"
ERROR = "dlq.error"
TOPIC = "dlq.topic"
PARTITION = "dlq.partition"
OFFSET = "dlq.offset"
TIMESTAMP = "dlq.timestamp"

TOPIC_SUFFIX = ".dlq"

Headers = Sequence[tuple[str, bytes | None]]


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """The added headers, parsed, and the headers that the record had before."""

    pipeline: str
    step: str
    error: str
    origin: Origin | None
    headers: tuple[tuple[str, bytes | None], ...]


def read_headers(headers: Headers) -> DeadLetter | None:
    names = [name for name, _ in headers]
    if PIPELINE not in names:
        return None
    begin = len(names) - 1 - names[::-1].index(PIPELINE)
    ours = {name: (value or b"").decode("utf-8", "replace") for name, value in headers[begin:]}
    return DeadLetter(
        pipeline=ours[PIPELINE],
        step=ours.get(STEP, ""),
        error=ours.get(ERROR, ""),
        origin=_origin(ours),
        headers=tuple(headers[:begin]),
    )


def _origin(ours: dict[str, str]) -> Origin | None:
    try:
        return Origin(
            topic=ours[TOPIC],
            partition=int(ours[PARTITION]),
            offset=int(ours[OFFSET]),
            timestamp_ms=int(ours[TIMESTAMP]) if ours.get(TIMESTAMP) else -1,
        )
    except (KeyError, ValueError):
        return None
