"""How a pipeline is doing, in a file that other processes read: `<checkpoints>/status.json`, and the lock beside it.

    status.json  the JSON of RunStatus, replaced as a whole about once a second while the pipeline runs, and at its end
    run.lock     locked (flock) by the process that runs the pipeline; the system unlocks it however the process ends

Two runs of a pipeline would write into the same checkpoints, so the second one is refused.
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
PAUSED = "restarting"  # failed, and waiting to be started again
FAILED = "failed"  # given up
STOPPED = "stopped"  # ended on request
DONE = "done"  # `--once`: everything that was there is read


class QueryStatus(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    state: str
    batch_id: int | None = None
    last_batch_ms: int | None = None  # when it was
    rows: int = 0  # since the run began
    input_rows_per_second: float = 0.0
    processed_rows_per_second: float = 0.0
    batch_duration_ms: int = 0
    lag_records: int | None = None  # None while it is unknown, and of what is not read from topics
    lag_seconds: float | None = None
    state_rows: int = 0
    state_bytes: int = 0
    late_rows: int = 0
    dead_letters: int = 0
    watermark: str | None = None
    broken: dict[str, dict[str, int]] = {}  # source or step -> expectation -> rows, since the run began
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
    queries: tuple[QueryStatus, ...] = ()


class AlreadyRunning(Exception):
    """Another process runs this pipeline."""


class OtherPipelinesState(Exception):
    """The checkpoints are those of another pipeline: it would go on from offsets that are not its own."""


def write_status(directory: str, status: RunStatus) -> None:
    """Replace the file as a whole: a reader sees the old status or the new one."""
    path = os.path.join(directory, STATUS_FILE)
    aside = f"{path}.{os.getpid()}.tmp"
    with open(aside, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(status), indent=2))
    os.replace(aside, path)


def read_status(directory: str) -> RunStatus | None:
    """The last status that a run left; None when there was no run."""
    try:
        with open(os.path.join(directory, STATUS_FILE), "rb") as file:
            return msgspec.json.decode(file.read(), type=RunStatus)
    except FileNotFoundError:
        return None


def is_running(directory: str) -> bool:
    """Whether a living process holds the lock, as far as can be told: who looks may not be allowed to."""
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
    with contextlib.suppress(
        msgspec.DecodeError
    ):  # a status that cannot be read belongs to nobody in particular
        last = read_status(directory)
    if last is not None and last.pipeline != pipeline:
        raise OtherPipelinesState(
            f"the checkpoints in {directory} are those of pipeline {last.pipeline} ({last.file}), and this is "
            f"{pipeline}: give it other checkpoints, or, if it was renamed and is to go on there, remove {STATUS_FILE}"
        )


@contextlib.contextmanager
def run_lock(directory: str, pipeline: str) -> Iterator[None]:
    """Hold the lock of a pipeline. Raises `AlreadyRunning` and `OtherPipelinesState`."""
    os.makedirs(directory, exist_ok=True)
    descriptor = os.open(os.path.join(directory, LOCK_FILE), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            last = read_status(directory)
            who = f" (process {last.pid})" if last is not None and last.ended_ms is None else ""
            raise AlreadyRunning(
                f"pipeline {pipeline} runs already{who} with its state in {directory}: stop that run, "
                "or give this one another name or other checkpoints"
            ) from None
        _check_owner(directory, pipeline)
        yield
    finally:
        os.close(descriptor)
