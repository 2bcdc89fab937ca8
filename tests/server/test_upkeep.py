from random import Random
from types import SimpleNamespace
from typing import Any

from penstock.config.broker import BrokerConfig
from penstock.config.topic import TopicConfig
from penstock.observability.clock import ManualClock
from penstock.server.upkeep import Upkeep
from penstock.storage.log_store import LogStore
from penstock.testing.disk import FaultyDisk
from tests.server.live import batch

NOW_MS = 1_700_000_000_000


async def test_producers_are_forgotten_by_the_setting_as_it_is_at_the_time() -> None:
    disk = FaultyDisk(Random(1))
    store = LogStore.open(
        "/data", files=disk, node_id=1, new_cluster_id=lambda: "cluster", new_directory_id=lambda: bytes(16)
    )
    log = store.open_or_create("orders", bytes(16), 0, TopicConfig())
    written = bytearray(batch(b"v", timestamp=NOW_MS, producer_id=7, epoch=0, sequence=0))
    log.append(written, leader_epoch=0, now_ms=NOW_MS)
    controller: Any = SimpleNamespace(config=BrokerConfig())
    cleaner: Any = None
    replicas: Any = [SimpleNamespace(is_open=True, log=log), SimpleNamespace(is_open=False)]
    upkeep = Upkeep(store, replicas, controller, cleaner, ManualClock(NOW_MS + 5000))
    await upkeep.expire_producers()
    assert log.producers.get(7) is not None
    controller.config = BrokerConfig(cluster_wide={"producer.id.expiration.ms": "5000"})
    await upkeep.expire_producers()
    assert log.producers.get(7) is None
    assert store.producer_expiration_ms == 5000
