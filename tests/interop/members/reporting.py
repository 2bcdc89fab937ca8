"""Shared by the members written in Python: arguments, output lines, and the stop condition."""

import json
import sys
import threading
from collections.abc import Iterable
from typing import Any

import msgspec

POLL_S = 0.1
HEARTBEAT_MS = 300


class Arguments(msgspec.Struct, frozen=True):
    """The last command-line argument, as JSON."""

    bootstrap: str
    group: str
    topic: str
    session_timeout_ms: int = 6000
    assignor: str = "range"
    instance_id: str | None = None
    is_holding: bool = False  # of a share group: acquires records, and never acknowledges them


def arguments() -> Arguments:
    return msgspec.json.decode(sys.argv[-1], type=Arguments)


def emit(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def assigned(partitions: Iterable[int]) -> None:
    emit("assigned", partitions=sorted(partitions))


def processed(records: Iterable[tuple[int, int, bytes | None]], event: str = "processed") -> None:
    emit(event, records=[[p, o, (v or b"").decode()] for p, o, v in records])


def stop_requested() -> threading.Event:
    """Set when standard input is closed."""
    stop = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
    return stop
