"""The plan of a simulated cluster: its topics, its settings, and its groups."""

from typing import Final

from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.network import Conditions
from penstock_simulation.seeds import randomness

ORDERS: Final = "orders"
"""Written by idempotent producers, read by groups and by others."""
LEDGER: Final = "ledger"
"""Written in transactions."""
TRIMMED: Final = "trimmed"
"""Written in transactions, and its records are deleted on request, including records of open transactions."""
LEADER_ACKS: Final = "leader-acks"
"""Written with acks=1, so that logs diverge. One fetch finds both of its partitions diverged: they move together."""
UNCLEAN: Final = "unclean"
"""Elections may be unclean: it may lose anything, but its replicas must agree."""
SINGLE: Final = "single"
"""One replica, written by many producers at the same moments, so that appends are grouped."""
PAIR: Final = "pair"
"""Two replicas, and `min.insync.replicas` goes up and down: acknowledged records stay."""
UNSYNCED: Final = "unsynced"
"""Its flush settings change: a crash of all eligible replicas may lose what one of them had not synced."""
EXPIRING: Final = "expiring"
"""Its records are deleted, on request and by retention."""
RECREATED: Final = "recreated"
"""Deleted and created again under the same name."""

CORRUPTED: Final = (ORDERS, LEDGER)
"""Topics of which bits flip, on the disk of one node."""

# fmt: off
PARTITION_COUNTS: Final = {
    ORDERS: 3, LEDGER: 2, TRIMMED: 1, LEADER_ACKS: 2, UNCLEAN: 1, SINGLE: 1, PAIR: 1, UNSYNCED: 1, EXPIRING: 1,
    RECREATED: 1,
}
# fmt: on
OPTIONAL: Final = ((PAIR, UNSYNCED), (EXPIRING, RECREATED))
"""A run has the topics of one of these pairs: all would take longer."""
REPLICA_COUNTS: Final = {SINGLE: 1, PAIR: 2}
"""The topics that have other than three replicas."""
TOPIC_SETTINGS: Final[dict[str, dict[str, str]]] = {
    LEADER_ACKS: {"min_insync_replicas": "1"},
    UNCLEAN: {"min_insync_replicas": "1", "unclean_leader_election_enable": "true"},
    SINGLE: {"min_insync_replicas": "1"},
    UNSYNCED: {"min_insync_replicas": "1", "flush_messages": "20"},
    EXPIRING: {"min_insync_replicas": "1"},
}
PARTITIONS: Final[dict[str, list[PartitionName]]] = {
    name: [(name, number) for number in range(count)] for name, count in PARTITION_COUNTS.items()
}
INTERNAL: Final[list[PartitionName]] = [
    (name, 0) for name in ("__consumer_offsets", "__transaction_state", "__share_group_state")
]

GROUP: Final = "readers"
SHARE_GROUP: Final = "workers"
COMMITTED_SHARE_GROUP: Final = "committed-workers"
"""A share group that reads committed transactions."""
COMMIT_GROUP: Final = "commits"
"""A group without members, for which offsets are committed."""
SESSION_MS: Final = 3000
REBALANCE_MS: Final = 4000

SETTINGS: Final = (
    "log.cleaner.enable=false",
    "log.index.size.max.bytes=4096",
    "log.retention.check.interval.ms=1500",
    "log.segment.bytes=4096",
    "min.insync.replicas=2",
    "num.partitions=1",
    "penstock.journal.bytes=65536",
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
    "group.share.delivery.count.limit=10",  # a delivery that is lost with its connection counts
    "share.coordinator.state.topic.num.partitions=1",
    "share.coordinator.state.topic.segment.bytes=16384",
    "share.coordinator.snapshot.update.records.per.snapshot=5",
    "share.coordinator.state.topic.prune.interval.ms=2000",
    "share.coordinator.cold.partition.snapshot.interval.ms=3000",
)

MAIN: Final = tuple(name for name in PARTITION_COUNTS if not any(name in each for each in OPTIONAL))

_CHECKPOINT_INTERVALS_MS: Final = (1000, 60_000)
_SNAPSHOT_BYTES: Final = (600, 2000, 6000)


def settings_of(seed: int) -> tuple[str, ...]:
    """Draw how often a run checkpoints logs and snapshots metadata."""
    random = randomness(seed, "settings")
    return (
        *SETTINGS,
        f"log.flush.offset.checkpoint.interval.ms={random.choice(_CHECKPOINT_INTERVALS_MS)}",
        f"metadata.log.max.record.bytes.between.snapshots={random.choice(_SNAPSHOT_BYTES)}",
    )


def optional_topics_of(seed: int) -> tuple[str, ...]:
    """Draw the topics of a run besides `MAIN`."""
    return randomness(seed, "side").choice(OPTIONAL)


def slow_work_chance_of(seed: int) -> float:
    """Return the chance that work off the event loop takes tens or hundreds of milliseconds."""
    return (0.0, 0.01, 0.05)[seed % 3]


def conditions_of(seed: int) -> Conditions:
    is_rough = seed % 4 == 1
    return Conditions(
        slow_chance=0.02 if seed % 3 else 0.0,
        slow_ms_max=300,
        loss_chance=0.01 if is_rough else 0.0,
        break_chance=0.002 if is_rough else 0.0,
    )


def partitions_of(*topics: str) -> list[PartitionName]:
    return [each for name in topics for each in PARTITIONS[name]]
