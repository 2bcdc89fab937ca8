"""What a simulated cluster is made of: its topics, its settings, and who uses it."""

from typing import Final

from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.network import Weather

ORDERS: Final = "orders"
"""Written by idempotent producers, read by a group and by others."""
LEDGER: Final = "ledger"
"""Written in transactions."""
JOURNAL: Final = "journal"
"""Written in transactions, and deleted from its start."""
GOSSIP: Final = "gossip"
"""Written without waiting for followers: logs part."""
DRAFTS: Final = "drafts"
"""Elections may be unclean: it may lose anything, and must be of one mind all the same."""
SOLO: Final = "solo"
"""Held by one broker at a time and written by a crowd, whose batches that broker gathers."""

ROTTING: Final = (ORDERS, LEDGER)
"""Topics of which bits flip, on the disk of one node."""

PARTITION_COUNTS: Final = {ORDERS: 3, LEDGER: 2, JOURNAL: 1, GOSSIP: 1, DRAFTS: 1, SOLO: 1}
REPLICA_COUNTS: Final = {SOLO: 1}
"""Where it is not three."""
TOPIC_SETTINGS: Final[dict[str, dict[str, str]]] = {
    GOSSIP: {"min_insync_replicas": "1"},
    DRAFTS: {"min_insync_replicas": "1", "unclean_leader_election_enable": "true"},
    SOLO: {"min_insync_replicas": "1"},
}
PARTITIONS: Final[dict[str, list[PartitionName]]] = {
    name: [(name, number) for number in range(count)] for name, count in PARTITION_COUNTS.items()
}
INTERNAL: Final[list[PartitionName]] = [
    (name, 0) for name in ("__consumer_offsets", "__transaction_state", "__share_group_state")
]

GROUP: Final = "readers"
SHARE_GROUP: Final = "workers"
CLERKS: Final = "clerks"
"""A group without members, for which offsets are committed."""
BOOKKEEPERS: Final = "bookkeepers"
"""A share group that reads committed transactions."""
SESSION_MS: Final = 3000
REBALANCE_MS: Final = 4000

SETTINGS: Final = (
    "log.cleaner.enable=false",
    "log.index.size.max.bytes=4096",
    "log.segment.bytes=4096",
    "metadata.log.max.record.bytes.between.snapshots=6000",
    "min.insync.replicas=2",
    "num.partitions=1",
    "penstock.log.scrub.interval.ms=5000",
    "replica.high.watermark.checkpoint.interval.ms=500",
    "replica.lag.time.max.ms=1000",
    "replica.socket.timeout.ms=3000",
    "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "offsets.topic.num.partitions=1",
    "offsets.topic.segment.bytes=16384",
    "transaction.state.log.segment.bytes=16384",
    "transaction.state.log.num.partitions=1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=1000",
    f"group.consumer.session.timeout.ms={SESSION_MS}",
    f"group.consumer.min.session.timeout.ms={SESSION_MS}",
    "group.consumer.heartbeat.interval.ms=500",
    "group.consumer.min.heartbeat.interval.ms=500",
    "group.consumer.assignment.interval.ms=0",
    f"group.share.session.timeout.ms={SESSION_MS}",
    f"group.share.min.session.timeout.ms={SESSION_MS}",
    "group.share.heartbeat.interval.ms=500",
    "group.share.min.heartbeat.interval.ms=500",
    "group.share.assignment.interval.ms=0",
    "group.share.record.lock.duration.ms=2000",
    "group.share.min.record.lock.duration.ms=2000",
    "group.share.delivery.count.limit=10",  # a record whose delivery is lost with a connection has been delivered
    "share.coordinator.state.topic.num.partitions=1",
    "share.coordinator.state.topic.segment.bytes=16384",
    "share.coordinator.snapshot.update.records.per.snapshot=5",
    "share.coordinator.state.topic.prune.interval.ms=2000",
    "share.coordinator.cold.partition.snapshot.interval.ms=3000",
)


def weather_of(seed: int) -> Weather:
    is_rough = seed % 4 == 1
    return Weather(
        slow_chance=0.02 if seed % 3 else 0.0,
        slow_ms_max=300,
        loss_chance=0.01 if is_rough else 0.0,
        break_chance=0.002 if is_rough else 0.0,
    )
