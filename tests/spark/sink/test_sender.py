"""Records reach their partitions once, while brokers come and go."""

import threading
from collections.abc import Iterator

import pyarrow as pa

from penstock.client.blocking.client import BlockingClient
from penstock.spark.sink.task import TaskWriter
from tests.spark.sink.live import batch_of, committed_rows, new_name, now_ms, sink_settings
from tests.support.broker import BrokerProcess


def test_a_broker_that_is_killed_while_records_come_stores_each_once(own_broker: BrokerProcess) -> None:
    settings = sink_settings(own_broker.bootstrap, "out", **{"kafka.batch.size": "4000"})
    cluster = BlockingClient(settings.client)
    cluster.create_topic("out", partitions=3)
    writer = TaskWriter(settings, cluster, now_ms=now_ms, transactional_id=None, first_partition=0)
    kills = threading.Semaphore(0)
    is_over = threading.Event()

    def kill_when_asked() -> None:
        while not is_over.is_set():
            if kills.acquire(timeout=0.1):
                own_broker.kill()
                own_broker.start()

    killer = threading.Thread(target=kill_when_asked)
    killer.start()
    parts = [range(1000 * part, 1000 * (part + 1)) for part in range(60)]

    def batches() -> Iterator[pa.RecordBatch]:
        for number, part in enumerate(parts):
            if number in (10, 30, 50):
                kills.release()
            yield batch_of(part, padding=100)

    try:
        writer.write(batches())
    finally:
        is_over.set()
        killer.join()
        cluster.close()
    assert sorted(committed_rows(own_broker.bootstrap, "out")) == list(range(60_000))


def test_the_rows_of_a_key_keep_their_order_over_many_small_batches(shared_broker: BrokerProcess) -> None:
    topic = new_name("ordered")
    settings = sink_settings(shared_broker.bootstrap, topic, **{"kafka.batch.size": "300"})
    cluster = BlockingClient(settings.client)
    cluster.create_topic(topic, partitions=1)
    TaskWriter(settings, cluster, now_ms=now_ms, transactional_id=None, first_partition=0).write(
        [batch_of(range(5000))]
    )
    cluster.close()
    assert committed_rows(shared_broker.bootstrap, topic) == list(range(5000))
