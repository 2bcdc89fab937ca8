"""How long clients pause after a SIGKILL: in a cluster of Kafka alone, and in a mixed one that Kafka controls.

`python -m tests.interop.kafka.measure_pauses [ROUNDS]` prints a line for each kill, with the longest pause of each
client. The clusters take turns, because the machine may be busy.
"""

import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.interop.kafka.load import COPIES, LOAD, Load
from tests.interop.kafka.rolling import RollingCluster
from tests.support.plugin import require_kafka

_KAFKA: Final = (1, 2, 3)
_PENSTOCK: Final = 11
_PARTITIONS: Final = 6
_PRODUCE_EVERY_S: Final = 0.03


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for _ in range(rounds):
        for is_mixed in (False, True):
            with tempfile.TemporaryDirectory() as directory:
                _measure(Path(directory), is_mixed=is_mixed)


def _measure(directory: Path, *, is_mixed: bool) -> None:
    cluster = RollingCluster(directory, require_kafka())
    load: Load | None = None
    try:
        cluster.start_kafka()
        for topic in (LOAD, COPIES):
            replicas = [[*_KAFKA[each % 3 :], *_KAFKA[: each % 3]] for each in range(_PARTITIONS)]
            cluster.create_topic(topic, replicas)
        load = Load(
            directory,
            f"{cluster.bootstrap},{cluster.plan_penstock(_PENSTOCK)}",
            _PARTITIONS,
            _PRODUCE_EVERY_S,
        )
        load.await_progress()
        if is_mixed:
            victim = next(each for each in _KAFKA if each != cluster.leader)
            cluster.add_penstock_voter(_PENSTOCK)
            cluster.await_voters(*cluster.controllers)
            cluster.replace(victim, _PENSTOCK)
            cluster.remove(victim)
            cluster.await_voters(*cluster.controllers)
        name = "mixed" if is_mixed else "kafka"
        followers = [each for each in cluster.controllers if each != cluster.leader]
        for number in [*sorted(followers, reverse=True), cluster.leader]:
            _kill(cluster, load, number, name)
    finally:
        if load is not None:
            load.close()
        cluster.close()


def _kill(cluster: RollingCluster, load: Load, number: int, name: str) -> None:
    cluster.await_healthy()
    load.await_progress()
    role = "controller" if cluster.leader == number else "follower"
    kind = "Kafka" if number in cluster.kafka else "Penstock"
    pauses = load.measure_pauses(cluster.node(number).kill)
    print(f"{name}: killed {kind} {number} ({role}): {pauses}", flush=True)
    cluster.node(number).start()


if __name__ == "__main__":
    main()
