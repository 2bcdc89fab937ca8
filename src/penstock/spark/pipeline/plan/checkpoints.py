"""Reads what Spark keeps of a query in its checkpoint: the offsets up to which it has planned.

    metadata            the id of the query
    offsets/<batch>     a version, the batch's metadata, and one line for each source: the end of the batch
    commits/<batch>     the batch is finished

Only checkpoints on this machine are read.
"""

import json
import os
import time
from urllib.parse import urlsplit

import msgspec

from penstock.spark.lake.disk import Disk
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.queries import checkpoint_root
from penstock.spark.source.offsets import StreamOffsets

_HEADER_LINES = 2
_REMOVED = ".reset"


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    sources: tuple[StreamOffsets, ...] = ()  # the next offsets of each, in the order of the plan


def local_root(pipeline: Pipeline) -> str | None:
    """Return the directory of the checkpoints; None if it is not on this machine."""
    parts = urlsplit(checkpoint_root(pipeline))
    return parts.path if parts.scheme in {"", "file"} else None


def keys_with_checkpoint(root: str) -> list[str]:
    names = sorted(os.listdir(root)) if os.path.isdir(root) else []
    return [name for name in names if os.path.exists(os.path.join(root, name, "metadata"))]


def has_finished_batch(root: str, key: str) -> bool:
    """Say whether the query resumes from its checkpoint alone: a replayed first batch asks for its start again."""
    return any(name.isdecimal() for name in Disk().names(os.path.join(root, key, "commits")))


def read_checkpoint(root: str, key: str) -> Checkpoint | None:
    """Return where the query continues; None if it has no checkpoint."""
    directory = os.path.join(root, key)
    if not os.path.exists(os.path.join(directory, "metadata")):
        return None
    batches = [int(name) for name in Disk().names(os.path.join(directory, "offsets")) if name.isdecimal()]
    if not batches:
        return Checkpoint()
    content = Disk().read(os.path.join(directory, "offsets", str(max(batches)))) or b""
    return Checkpoint(sources=tuple(_offsets(line) for line in content.decode().splitlines()[_HEADER_LINES:]))


def _offsets(line: str) -> StreamOffsets:
    try:
        return StreamOffsets.from_json(json.loads(line))
    except (ValueError, AttributeError, TypeError):  # not a topic, or no offset yet
        return StreamOffsets(offsets={})


def move_aside(root: str, key: str) -> str:
    """Move a checkpoint away, and return where it is now."""
    aside = os.path.join(root, _REMOVED, f"{key}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}")
    os.makedirs(os.path.dirname(aside), exist_ok=True)
    while os.path.exists(aside):
        aside += "-2"
    os.rename(os.path.join(root, key), aside)
    return aside
