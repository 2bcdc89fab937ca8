"""The status files of pipelines on this machine (`<checkpoints>/status.json`, see docs/pipelines.md).

Read as plain JSON: the console does not load Spark to show a file.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterable
from typing import Any, Final

import msgspec

_STATUS_FILE: Final = "status.json"
_LOCK_FILE: Final = "run.lock"
_FILE_BYTES_MAX: Final = 4 * 1024 * 1024


def read_statuses(directories: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What was found, by the name of the pipeline; a directory without a readable status is left out."""
    found: dict[str, dict[str, Any]] = {}
    for directory in directories:
        with contextlib.suppress(OSError, msgspec.DecodeError):
            with open(os.path.join(directory, _STATUS_FILE), "rb") as file:
                status = msgspec.json.decode(file.read(_FILE_BYTES_MAX))
            if isinstance(status, dict) and isinstance(status.get("pipeline"), str):
                found[status["pipeline"]] = {**status, "running": _is_locked(directory)}
    return found


def _is_locked(directory: str) -> bool:
    """Whether a living process runs the pipeline: it holds a lock, which the system takes back when it ends."""
    try:
        descriptor = os.open(os.path.join(directory, _LOCK_FILE), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
