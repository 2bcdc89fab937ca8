"""What a simulated cluster is made of: its topics, its settings, and who uses it."""

from typing import Final

from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.network import Weather
from penstock.testing.simulation.seeds import randomness

ORDERS: Final = "orders"
"""Written by idempotent producers, read by a group and by others."""
LEDGER: Final = "ledger"
"""Written in transactions."""
JOURNAL: Final = "journal"
"""Written in transactions, and its records are deleted on request, those of open transactions too."""
GOSSIP: Final = "gossip"
"""Written without waiting for followers: logs part. Its partitions move together, so that one fetch finds several
that have parted.
"""
DRAFTS: Final = "drafts"
"""Elections may be unclean: it may lose anything, and must be of one mind all the same."""
SOLO: Final = "solo"
"""Held by one broker at a time and written by a crowd, whose batches that broker gathers."""
PAIR: Final = "pair"
"""Two replicas, and `min.insync.replicas` goes up and down: what is acknowledged stays, by whichever."""
RELAXED: Final = "relaxed"
"""Its flush settings change: what every eligible replica had not synced when all of them crashed may be lost."""
FLEETING: Final = "fleeting"
"""Its records are deleted, on request and by retention."""
RENEWED: Final = "renewed"
"""Deleted and created again under the same name."""

ROTTING: Final = (ORDERS, LEDGER)
"""Topics of which bits flip, on the disk of one node."""

PARTITION_COUNTS: Final = {
    ORDERS: 3,
    LEDGER: 2,
    JOURNAL: 1,
    GOSSIP: 2,
    DRAFTS: 1,
    SOLO: 1,
    PAIR: 1,
    RELAXED: 1,
    FLEETING: 1,
    RENEWED: 1,
}
SIDES: Final = ((PAIR, RELAXED), (FLEETING, RENEWED))
"""Topics of which a run has some, besides all others: more would take longer."""
REPLICA_COUNTS: Final = {SOLO: 1, PAIR: 2}
"""Where it is not three."""
TOPIC_SETTINGS: Final[dict[str, dict[str, str]]] = {
    GOSSIP: {"min_insync_replicas": "1"},
    DRAFTS: {"min_insync_replicas": "1", "unclean_leader_election_enable": "true"},
    SOLO: {"min_insync_replicas": "1"},
    RELAXED: {"min_insync_replicas": "1", "flush_messages": "20"},
    FLEETING: {"min_insync_replicas": "1"},
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
    "group.share.delivery.count.limit=10",  # a record whose delivery is lost with a connection has been delivered
    "share.coordinator.state.topic.num.partitions=1",
    "share.coordinator.state.topic.segment.bytes=16384",
    "share.coordinator.snapshot.update.records.per.snapshot=5",
    "share.coordinator.state.topic.prune.interval.ms=2000",
    "share.coordinator.cold.partition.snapshot.interval.ms=3000",
)

MAIN: Final = tuple(name for name in PARTITION_COUNTS if not any(name in each for each in SIDES))

_CHECKPOINT_INTERVALS_MS: Final = (1000, 60_000)
_SNAPSHOT_BYTES: Final = (600, 2000, 6000)


def settings_of(seed: int) -> tuple[str, ...]:
    """How often logs are checkpointed and the metadata log is cut short differs from seed to seed."""
    random = randomness(seed, "settings")
    return (
        *SETTINGS,
        f"log.flush.offset.checkpoint.interval.ms={random.choice(_CHECKPOINT_INTERVALS_MS)}",
        f"metadata.log.max.record.bytes.between.snapshots={random.choice(_SNAPSHOT_BYTES)}",
    )


def side_of(seed: int) -> tuple[str, ...]:
    """The topics of this run besides `MAIN`."""
    return randomness(seed, "side").choice(SIDES)


def slow_work_chance_of(seed: int) -> float:
    """That work off the event loop takes tens or hundreds of milliseconds."""
    return (0.0, 0.01, 0.05)[seed % 3]


def weather_of(seed: int) -> Weather:
    is_rough = seed % 4 == 1
    return Weather(
        slow_chance=0.02 if seed % 3 else 0.0,
        slow_ms_max=300,
        loss_chance=0.01 if is_rough else 0.0,
        break_chance=0.002 if is_rough else 0.0,
    )
