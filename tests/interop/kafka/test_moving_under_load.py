"""Partitions move from Kafka's brokers to Penstock's and back, under load; every client keeps working."""

from pathlib import Path

import pytest

from tests.interop.kafka.load import COPIES, LOAD, Load
from tests.interop.kafka.mixed import MixedCluster, segment_bytes
from tests.support.plugin import require_kafka

KAFKA, PENSTOCK = (1, 2, 3), (11, 12, 13)
PARTITIONS = 6


def rotated(nodes: tuple[int, ...], by: int) -> list[int]:
    return [*nodes[by % 3 :], *nodes[: by % 3]]


@pytest.mark.timeout(900)
def test_partitions_move_from_kafka_to_penstock_and_back_while_clients_use_them(tmp_path: Path) -> None:
    cluster = MixedCluster(tmp_path, require_kafka())
    load = None
    try:
        cluster.start_kafka()
        for number in PENSTOCK:
            cluster.add_penstock(number)
        for topic in (LOAD, COPIES):
            cluster.create_topic(topic, [rotated(KAFKA, each) for each in range(PARTITIONS)])
        load = Load(tmp_path, cluster.bootstrap, PARTITIONS)
        load.await_progress()
        cluster.move_all(lambda each: rotated(PENSTOCK, each.partition))
        load.await_progress()
        print("on Penstock", load.pauses())
        cluster.move_all(lambda each: rotated(KAFKA, each.partition))
        load.await_progress()
        print("back on Kafka", load.pauses())
        cluster.move_all(lambda each: (11, 1, 12) if each.partition % 2 else (2, 13, 3))
        load.await_progress()
        cluster.penstock[11].kill()
        load.await_progress(1000)
        cluster.penstock[11].start()
        cluster.await_healthy()
        cluster.kafka[2].kill()
        load.await_progress(1000)
        cluster.kafka[2].start()
        cluster.await_healthy()
        load.finish()
        print("longest pauses", load.pauses())
        for topic in (LOAD, COPIES):
            for number in range(PARTITIONS):
                nodes = (11, 1, 12) if number % 2 else (2, 13, 3)
                replicas = {segment_bytes(cluster.data_of(node) / f"{topic}-{number}") for node in nodes}
                assert len(replicas) == 1, (topic, number)
    finally:
        if load is not None:
            print(load.failures, load.describe())
            load.close()
        cluster.close()
