"""How long a test waits for its broker: embedded ones here, and testcontainers' Kafka where a container engine runs.

    python -m tools.measure_embedded [--rounds 20] [--image confluentinc/cp-kafka:7.6.0]

Prints a table in Markdown, medians with the lowest and the highest. What cannot be measured is named with the reason.
"""

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from penstock.embedded import Broker, Cluster

_FRESH = """
import time
began = time.perf_counter()
from penstock.embedded import Broker
imported = time.perf_counter()
broker = Broker().start()
started = time.perf_counter()
broker.stop()
print(imported - began, started - imported)
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--image", default="confluentinc/cp-kafka:7.6.0")
    chosen = options.parse_args()
    print("| what | median | lowest … highest | rounds |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as compiled:
        _fresh_process(compiled)  # whoever has run it once has it compiled
        fresh = [_fresh_process(compiled) for _ in range(max(3, chosen.rounds // 4))]
    _row("`import penstock.embedded`, new process", [each[0] for each in fresh])
    _row("first `Broker().start()` after it", [each[1] for each in fresh])
    _row("`Broker().start()`, in memory", _rounds(chosen.rounds, _start_broker))
    _row("the same, until a record is written and read", _rounds(chosen.rounds, _use_broker))
    _row('`Broker(storage="temporary").start()`', _rounds(chosen.rounds, _start_temporary))
    _row("`Cluster(3).start()`", _rounds(max(3, chosen.rounds // 4), _start_cluster))
    _row("100 brokers, one after another, a record each", [_hundred()])
    missing = why_no_containers()
    if missing is None:
        _row(
            f"testcontainers' `KafkaContainer({chosen.image!r}).with_kraft()`",
            _rounds(3, lambda: _start_container(chosen.image)),
        )
    else:
        print(f"| testcontainers' `KafkaContainer` | not measured: {missing} | | |")


def _fresh_process(compiled: str) -> tuple[float, float]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    ended = subprocess.run(
        [sys.executable, "-c", _FRESH],
        check=True,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    imported_s, started_s = ended.stdout.split()
    return float(imported_s), float(started_s)


def _rounds(count: int, measure: Callable[[], float]) -> list[float]:
    return [measure() for _ in range(count)]


def _start_broker() -> float:
    return _started(Broker().start)


def _start_temporary() -> float:
    return _started(Broker(storage="temporary").start)


def _start_cluster() -> float:
    return _started(Cluster(3).start)


def _started(start: Callable[[], Broker] | Callable[[], Cluster]) -> float:
    began = time.perf_counter()
    running = start()
    duration_s = time.perf_counter() - began
    running.stop()
    return duration_s


def _use_broker() -> float:
    began = time.perf_counter()
    with Broker(topics={"orders": 1}) as broker:
        broker.topic("orders").produce(b"one")
        broker.topic("orders").assert_values([b"one"])
        return time.perf_counter() - began


def _hundred() -> float:
    began = time.perf_counter()
    for _ in range(100):
        _use_broker()
    return time.perf_counter() - began


def why_no_containers() -> str | None:
    """What stands in the way of starting a container; None when nothing does."""
    try:
        engine = importlib.import_module("testcontainers.core.docker_client")
    except ImportError:
        return "the package testcontainers is not installed (pip install testcontainers)"
    try:
        engine.DockerClient().client.ping()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what to tell
        return f"no container engine answers ({type(error).__name__})"
    return None


def _start_container(image: str) -> float:
    kafka = importlib.import_module("testcontainers.kafka")
    began = time.perf_counter()
    container = kafka.KafkaContainer(image).with_kraft().start()
    duration_s = time.perf_counter() - began
    container.stop()
    return duration_s


def _row(what: str, durations_s: list[float]) -> None:
    lowest, median, highest = min(durations_s), statistics.median(durations_s), max(durations_s)
    spread = "" if len(durations_s) == 1 else f"{_text(lowest)} … {_text(highest)}"
    print(f"| {what} | {_text(median)} | {spread} | {len(durations_s)} |", flush=True)


def _text(duration_s: float) -> str:
    return f"{duration_s:.2f} s" if duration_s >= 1 else f"{duration_s * 1000:.1f} ms"


if __name__ == "__main__":
    main()
