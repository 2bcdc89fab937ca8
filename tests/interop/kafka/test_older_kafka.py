"""Clusters of older releases of Apache Kafka are replaced by Penstock under load: each side negotiates its requests."""

from pathlib import Path

import pytest

from tests.interop.kafka.load import COPIES, LOAD, Load
from tests.interop.kafka.rolling import RollingCluster
from tests.support.plugin import require_kafka

KAFKA, PENSTOCK = (1, 2, 3), (11, 12, 13)
PARTITIONS = 6
PRODUCE_EVERY_S = 0.03


@pytest.mark.timeout(540)
@pytest.mark.parametrize("release", ["4.2.0", "4.1.1", "4.0.1"])
def test_an_older_kafka_is_replaced_by_penstock_under_load(release: str, tmp_path: Path) -> None:
    cluster = RollingCluster(tmp_path, require_kafka(release))
    load: Load | None = None
    try:
        cluster.start_kafka()
        for topic in (LOAD, COPIES):
            cluster.create_topic(
                topic, [[*KAFKA[each % 3 :], *KAFKA[: each % 3]] for each in range(PARTITIONS)]
            )
        bootstrap = f"{cluster.bootstrap},{cluster.plan_penstock(*PENSTOCK)}"
        load = Load(tmp_path, bootstrap, PARTITIONS, PRODUCE_EVERY_S, has_share_group=release >= "4.2")
        load.await_progress()
        for old, new in zip(KAFKA, PENSTOCK, strict=True):
            cluster.add_penstock_voter(new)
            cluster.await_voters(*cluster.controllers)
            if cluster.leader == KAFKA[-1] and old != KAFKA[0]:  # the other kind leads it now
                cluster.node(KAFKA[-1]).terminate()
                cluster.node(KAFKA[-1]).start()
                cluster.await_healthy()
            load.await_progress()
            cluster.replace(old, new)
            cluster.remove(old)
            cluster.await_voters(*cluster.controllers)
            load.await_progress()
        load.finish()
    finally:
        if load is not None:
            print(load.failures, load.describe())
            load.close()
        cluster.close()
