from random import Random
from types import SimpleNamespace
from typing import Any

from penstock.config.broker import BrokerConfig
from penstock.config.topic import TopicConfig
from penstock.runtime.clock import ManualClock
from penstock.server.broker.maintenance import MaintenanceTasks
from penstock.storage.store.log_store import LogStore
from penstock_simulation.disk import FaultyDisk
from tests.server.live import batch
from tests.storage.logs import append_records

NOW_MS = 1_700_000_000_000


async def test_producers_expire_by_the_current_value_of_the_setting() -> None:
    disk = FaultyDisk(Random(1))
    store = LogStore.open(
        "/data", files=disk, node_id=1, new_cluster_id=lambda: "cluster", new_directory_id=lambda: bytes(16)
    )
    log = store.open_or_create("orders", bytes(16), 0, TopicConfig())
    written = bytearray(batch(b"v", timestamp=NOW_MS, producer_id=7, epoch=0, sequence=0))
    append_records(log, written, leader_epoch=0, now_ms=NOW_MS)
    controller: Any = SimpleNamespace(config=BrokerConfig())
    cleaner: Any = None
    replicas: Any = [SimpleNamespace(is_open=True, log=log), SimpleNamespace(is_open=False)]
    upkeep = MaintenanceTasks(store, replicas, controller, cleaner, ManualClock(NOW_MS + 5000))
    await upkeep.expire_producers()
    assert log.producers.get(7) is not None
    controller.config = BrokerConfig(cluster_wide={"producer.id.expiration.ms": "5000"})
    await upkeep.expire_producers()
    assert log.producers.get(7) is None
    assert store.producer_expiration_ms == 5000


async def test_a_saved_high_watermark_covers_only_durable_records() -> None:
    """Of a topic that waives syncs, more is committed: a crash may take it, and that is no loss to report."""
    disk = FaultyDisk(Random(1))
    store = LogStore.open(
        "/data", files=disk, node_id=1, new_cluster_id=lambda: "cluster", new_directory_id=lambda: bytes(16)
    )
    log = store.open_or_create("relaxed", bytes(16), 0, TopicConfig(flush_messages=20))
    append_records(log, bytearray(batch(b"v", timestamp=NOW_MS)), leader_epoch=0, now_ms=NOW_MS)
    replica = SimpleNamespace(
        topic="relaxed", partition=0, is_open=True, is_replicated=True, log=log, high_watermark=1
    )
    controller: Any = SimpleNamespace(config=BrokerConfig())
    nobody: Any = None
    replicas: Any = [replica]
    upkeep = MaintenanceTasks(store, replicas, controller, nobody, ManualClock(NOW_MS))
    await upkeep.save_high_watermarks()
    assert store.high_watermark("relaxed", 0) == 0
    await store.checkpoint()
    await upkeep.save_high_watermarks()
    assert store.high_watermark("relaxed", 0) == 1
