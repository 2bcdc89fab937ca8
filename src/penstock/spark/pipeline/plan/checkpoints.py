"""Reads where the queries of a pipeline are, and gives up their places.

    <output>/metadata, offsets/<batch>, commits/<batch>     Spark's checkpoint of a query
    _source.<source>/query/                                 the same of outputs that share the reads of a source
    _source.<source>/outputs/<output>.json                  the place of one: `reached` or `pending` if it is behind

An offsets file has a version, the metadata of the batch, and one line for each source: the end of the batch. Only
checkpoints on this machine are read.
"""

import glob
import json
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec

from penstock.spark.lake.disk import Disk
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.queries import SHARED_CHECKPOINT, SHARED_PREFIX, checkpoint_root
from penstock.spark.source.offsets import StreamOffsets, from_json

_HEADER_LINES = 2
_REMOVED = ".reset"


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    sources: tuple[StreamOffsets, ...] = ()  # the next offsets of each, in the order of the plan


def local_root(pipeline: Pipeline) -> str | None:
    """Return the directory of the checkpoints; None if it is not on this machine."""
    parts = urlsplit(checkpoint_root(pipeline))
    return parts.path if parts.scheme in {"", "file"} else None


def keys_with_checkpoint(root: str) -> list[str]:
    own = [
        os.path.basename(os.path.dirname(path))
        for path in glob.glob(os.path.join(glob.escape(root), "*", "metadata"))
    ]
    shared = [os.path.basename(path).removesuffix(".json") for path in _shared_places(root, "*")]
    return sorted({*(key for key in own if not key.startswith(SHARED_PREFIX)), *shared})


def has_finished_batch(root: str, key: str) -> bool:
    """Say whether the query resumes from its checkpoint alone: a replayed first batch asks for its start again."""
    commits = Disk(root).names(os.path.join(key, "commits"))
    return any(name.isdecimal() for name in commits) or any(_shared_places(root, key))


def read_checkpoint(root: str, key: str) -> Checkpoint | None:
    """Return where the query continues; None if it has no checkpoint."""
    for path in _shared_places(root, key):
        return Checkpoint(sources=(_shared_offsets(path),))
    directory = os.path.join(root, key)
    if not os.path.exists(os.path.join(directory, "metadata")):
        return None
    return Checkpoint(sources=_last_offsets(directory))


def move_aside(root: str, key: str) -> str | None:
    """Move what the query has away, and return where it is now; None if it had nothing."""
    aside = os.path.join(root, _REMOVED, f"{key}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}")
    while os.path.exists(aside):
        aside += "-2"
    found = [path for path in (os.path.join(root, key), *_shared_places(root, key)) if os.path.exists(path)]
    for path in found:
        os.makedirs(aside, exist_ok=True)
        os.rename(path, os.path.join(aside, os.path.basename(path)))
    return aside if found else None


def _shared_places(root: str, key: str) -> Iterator[str]:
    name = f"{key if key == '*' else glob.escape(key)}.json"
    yield from glob.glob(os.path.join(glob.escape(root), f"{SHARED_PREFIX}*", "outputs", name))


def _shared_offsets(path: str) -> StreamOffsets:
    """Return where an output of a group is: with the group, unless it is behind."""
    place: dict[str, Any] = json.loads(Disk(os.path.dirname(path)).read(os.path.basename(path)) or b"{}")
    directory = os.path.join(os.path.dirname(os.path.dirname(path)), SHARED_CHECKPOINT)
    group = next(iter(_last_offsets(directory)), StreamOffsets(offsets={}))
    behind = (place.get("pending") or {}).get("start") or place.get("reached")
    return group if behind is None else msgspec.structs.replace(group, offsets=from_json(behind))


def _last_offsets(directory: str) -> tuple[StreamOffsets, ...]:
    batches = [int(name) for name in Disk(directory).names("offsets") if name.isdecimal()]
    if not batches:
        return ()
    content = Disk(directory).read(os.path.join("offsets", str(max(batches)))) or b""
    return tuple(_offsets(line) for line in content.decode().splitlines()[_HEADER_LINES:])


def _offsets(line: str) -> StreamOffsets:
    try:
        return StreamOffsets.from_json(json.loads(line))
    except (ValueError, AttributeError, TypeError):  # not a topic, or no offset yet
        return StreamOffsets(offsets={})
