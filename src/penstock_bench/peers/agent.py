"""A client in a process of its own: no client shares an interpreter with another client or with the benchmark.

Run as `python -m penstock_bench.peers.agent`. Reads a `Task` as a line of JSON, connects, writes `ready`, waits for
a line, runs the task, and writes its `Outcome` as a line of JSON; then the next task, until the input ends.
"""

import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import msgspec

from penstock_bench.peers.clients import Client, client_of
from penstock_bench.peers.clients.stamp import due_s
from penstock_bench.peers.outage import ANSWER_WITHIN_S, Outage
from penstock_bench.peers.tasks import WARM_UP_MESSAGES, Outcome, Task
from penstock_bench.readable import is_readable_within

_RETRY_S = 0.005
_TRY_S = 5.0
_REASON_CHARACTERS_MAX = 300


def main() -> int:
    while line := sys.stdin.buffer.readline():
        try:
            prepared = _prepare(msgspec.json.decode(line, type=Task))
            _write(b"ready")
            if sys.stdin.buffer.readline():
                _write(msgspec.json.encode(prepared()))
        except Exception as error:  # noqa: BLE001 - the benchmark reports every failure
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:_REASON_CHARACTERS_MAX]
            _write(msgspec.json.encode(Outcome(failure=reason)))
    return 0


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _prepare(task: Task) -> Callable[[], Outcome]:
    """Connect, and return the function to be measured."""
    client = client_of(task.where)
    if task.operation in ("lone", "bulk", "paced"):
        client.open_publisher()
        if task.operation == "lone":
            for _ in range(WARM_UP_MESSAGES):
                client.publish_one(b"x" * task.message_bytes)
    elif task.operation in ("read", "timed-read"):
        client.open_reader(task.group)
    elif task.operation == "outage":
        client.open_publisher(ANSWER_WITHIN_S)
    elif task.operation == "transform":
        client.open_transformer(task.group)
    return lambda: _measure(task, client)


def _measure(task: Task, client: Client) -> Outcome:
    began = time.perf_counter()
    count, latencies = _do(task, client)
    ended = time.perf_counter()
    if task.operation != "first":
        client.close()
    return Outcome(count=count, took_s=ended - began, ended_at_s=ended, latencies_s=latencies)


def _do(task: Task, client: Client) -> tuple[int, list[float]]:
    payload = b"x" * task.message_bytes
    match task.operation:
        case "create":
            client.create()
        case "remove":
            client.remove()
        case "first":
            _await_first(task)
        case "lone":
            return _lone(client, payload, task.duration_s)
        case "bulk":
            return client.publish_many(payload, task.count, task.duration_s), []
        case "paced":
            client.publish_paced(task.message_bytes, task.count, 1 / task.rate_per_s)
            return task.count, []
        case "read":
            return sum(len(values) for values in client.read(task.count)), []
        case "timed-read":
            return task.count, _timed(client, task.count)
        case "outage":
            count, longest_s = Outage(client, task.duration_s).run(payload, _is_kill_announced)
            return count, [longest_s]
        case "transform":
            latencies = client.transform(task.output, task.transaction_messages, task.duration_s)
            return len(latencies), latencies
    return 0, []


def _lone(client: Client, payload: bytes, duration_s: float) -> tuple[int, list[float]]:
    latencies: list[float] = []
    publish, clock = client.publish_one, time.perf_counter
    now = clock()
    end = now + duration_s
    while now < end:
        publish(payload)
        done = clock()
        latencies.append(done - now)
        now = done
    return len(latencies), latencies


def _is_kill_announced() -> bool:
    """Return whether the benchmark has written another line: the node was killed."""
    is_announced = is_readable_within(sys.stdin.fileno(), 0)
    if is_announced:
        sys.stdin.buffer.readline()
    return is_announced


def _timed(client: Client, count: int) -> list[float]:
    latencies: list[float] = []
    for values in client.read(count):
        now = time.perf_counter()
        latencies += [now - due_s(value) for value in values]
    return latencies


def _await_first(task: Task) -> None:
    """Retry until one message is acknowledged: the server may still be starting."""
    deadline = time.perf_counter() + task.duration_s
    signal.signal(signal.SIGALRM, _raise_timeout)
    while True:
        signal.setitimer(
            signal.ITIMER_REAL, _TRY_S
        )  # a client may wait forever for a server that is not ready
        try:
            client_of(task.where).first()
        except Exception:
            if time.perf_counter() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _raise_timeout(_number: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError("not acknowledged in time")


if __name__ == "__main__":
    sys.exit(main())
