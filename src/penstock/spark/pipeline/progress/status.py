"""The status file of a run, which other processes read, and its lock, both in the directory of checkpoints.

    status.json  the JSON of RunStatus, replaced atomically about once a second while the pipeline runs, and at its end
    run.lock     locked (flock) by the process that runs the pipeline; the system releases it when the process ends

Two runs of a pipeline would write to the same checkpoints, so the second one is refused.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator

import msgspec

STATUS_FILE = "status.json"
LOCK_FILE = "run.lock"

STARTING = "starting"
RUNNING = "running"
PAUSED = "restarting"  # failed, and waiting for its restart
FAILED = "failed"  # given up
STOPPED = "stopped"  # ended on request
DONE = "done"  # `--once`: all records are read


class QueryStatus(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    state: str
    batch_id: int | None = None
    last_batch_ms: int | None = None  # its time
    rows: int = 0  # since the run began
    input_rows_per_second: float = 0.0
    processed_rows_per_second: float = 0.0
    batch_duration_ms: int = 0
    lag_records: int | None = None  # None if unknown, or not read from topics
    lag_seconds: float | None = None
    state_rows: int = 0
    state_bytes: int = 0
    late_rows: int = 0
    dead_letters: int = 0
    watermark: str | None = None
    broken: dict[str, dict[str, int]] = {}  # source or step -> expectation -> rows, since the run began
    failures: int = 0
    last_error: str | None = None


class MaintenanceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the pipeline did to look after the table of an output, since the run began."""

    output: str
    passes: int = 0
    last_ms: int | None = None  # the end of the last pass
    files_merged: int = 0
    files_made: int = 0  # by merging
    files_removed: int = 0  # of older versions, and of failed writes
    conflicts: int = 0  # it gave way to a writer
    failures: int = 0
    last_error: str | None = None


class RunStatus(msgspec.Struct, frozen=True, kw_only=True):
    pipeline: str
    file: str
    pid: int
    started_ms: int
    updated_ms: int
    ended_ms: int | None = None
    exit_code: int | None = None
    run_id: str = ""  # empty: written by an earlier version
    queries: tuple[QueryStatus, ...] = ()
    maintenance: tuple[MaintenanceStatus, ...] = ()


class AlreadyRunning(Exception):
    """Another process runs this pipeline."""


class CheckpointOwnerMismatch(Exception):
    """The checkpoints belong to another pipeline, with other offsets."""


def write_status(directory: str, status: RunStatus) -> None:
    path = os.path.join(directory, STATUS_FILE)
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(status), indent=2))
    os.replace(temporary, path)


def read_status(directory: str) -> RunStatus | None:
    try:
        with open(os.path.join(directory, STATUS_FILE), "rb") as file:
            return msgspec.json.decode(file.read(), type=RunStatus)
    except FileNotFoundError:
        return None


def is_running(directory: str) -> bool:
    """Say whether a process holds the lock; false if the lock file cannot be opened."""
    try:
        descriptor = os.open(os.path.join(directory, LOCK_FILE), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _check_owner(directory: str, pipeline: str) -> None:
    last = None
    with contextlib.suppress(msgspec.DecodeError):  # a damaged status has no owner
        last = read_status(directory)
    if last is not None and last.pipeline != pipeline:
        raise CheckpointOwnerMismatch(
            f"the checkpoints in {directory} belong to pipeline {last.pipeline} ({last.file}), not to {pipeline}: "
            f"choose other checkpoints, or, if the pipeline was renamed and should resume, remove {STATUS_FILE}"
        )


@contextlib.contextmanager
def run_lock(directory: str, pipeline: str) -> Iterator[None]:
    """Hold the lock of a pipeline. Raises `AlreadyRunning` and `CheckpointOwnerMismatch`."""
    os.makedirs(directory, exist_ok=True)
    descriptor = os.open(os.path.join(directory, LOCK_FILE), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            last = read_status(directory)
            who = f" (process {last.pid})" if last is not None and last.ended_ms is None else ""
            raise AlreadyRunning(
                f"pipeline {pipeline} is running already{who} with its state in {directory}: stop that run, "
                "or choose another name or other checkpoints"
            ) from None
        _check_owner(directory, pipeline)
        yield
    finally:
        os.close(descriptor)
