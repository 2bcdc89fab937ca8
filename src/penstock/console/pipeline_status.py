"""The status files of pipelines on this machine (`<checkpoints>/status.json`, see docs/pipelines.md).

Read as plain JSON, which may be of another version. Spark is not loaded for it.
"""

import contextlib
import os
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from penstock.spark.pipeline.progress.status import STATUS_FILE, is_running

_FILE_BYTES_MAX: Final = 4 * 1024 * 1024


def read_statuses(directories: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The statuses by the name of the pipeline; a directory without a readable status is left out."""
    found: dict[str, dict[str, Any]] = {}
    for directory in directories:
        with contextlib.suppress(OSError, msgspec.DecodeError):
            with open(os.path.join(directory, STATUS_FILE), "rb") as file:
                status = msgspec.json.decode(file.read(_FILE_BYTES_MAX))
            if isinstance(status, dict) and isinstance(status.get("pipeline"), str):
                found[status["pipeline"]] = {**status, "running": is_running(directory)}
    return found
