"""Broker settings about consumer groups, committed offsets, transactions and share groups."""

from penstock.config.property import INT_MAX, Live, not_empty
from penstock.config.section import Section

GROUPS = Section("Consumer groups")

GROUP_MIN_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.min.session.timeout.ms", 6000, "The shortest session timeout that a member may request."
)
GROUP_MAX_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.max.session.timeout.ms", 1_800_000, "The longest session timeout that a member may request."
)
GROUP_INITIAL_REBALANCE_DELAY_MS = GROUPS.integer(
    "group.initial.rebalance.delay.ms",
    3000,
    "How long an empty group waits for more members before its first rebalance.",
)
GROUP_MAX_SIZE = GROUPS.integer(
    "group.max.size", INT_MAX, "How many members a classic group may have.", at_least=1
)
GROUP_COORDINATOR_REBALANCE_PROTOCOLS = GROUPS.names(
    "group.coordinator.rebalance.protocols",
    ("classic", "consumer", "streams"),
    "Which group protocols are offered.",
    choices=("classic", "consumer", "streams", "share"),
    check=not_empty,
)
CONSUMER_SESSION_TIMEOUT = GROUPS.bounded(
    "group.consumer.session.timeout.ms",
    (45_000, 45_000, 60_000),
    "How long a member of a KIP-848 group may be silent before it is removed.",
)
CONSUMER_HEARTBEAT_INTERVAL = GROUPS.bounded(
    "group.consumer.heartbeat.interval.ms",
    (5000, 5000, 15_000),
    "How often a member of a KIP-848 group sends heartbeats.",
)
CONSUMER_ASSIGNMENT_INTERVAL = GROUPS.bounded(
    "group.consumer.assignment.interval.ms",
    (1000, 0, 15_000),
    "The minimum time between two computations of a KIP-848 group's assignment (KIP-1263).",
    ranges=((0, None), (0, None), (0, None)),
    live=Live.CLUSTER_WIDE,
)
GROUP_CONSUMER_SESSION_TIMEOUT_MS = CONSUMER_SESSION_TIMEOUT.setting
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS = CONSUMER_HEARTBEAT_INTERVAL.setting
GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS = CONSUMER_ASSIGNMENT_INTERVAL.setting
GROUP_CONSUMER_MAX_SIZE = GROUPS.integer(
    "group.consumer.max.size", INT_MAX, "How many members a KIP-848 group may have.", at_least=1
)
GROUP_CONSUMER_ASSIGNORS = GROUPS.names(
    "group.consumer.assignors",
    ("uniform", "range"),
    "The assignors that KIP-848 groups may choose, the default first.",
)
GROUP_CONSUMER_MIGRATION_POLICY = GROUPS.string(
    "group.consumer.migration.policy",
    "bidirectional",
    "Whether groups may move between the classic and the KIP-848 protocol while they have members.",
    choices=("disabled", "upgrade", "downgrade", "bidirectional"),
)

SHARE = Section("Share groups")

SHARE_SESSION_TIMEOUT = SHARE.bounded(
    "group.share.session.timeout.ms",
    (45_000, 45_000, 60_000),
    "How long a member of a share group may be silent before it is removed.",
)
SHARE_HEARTBEAT_INTERVAL = SHARE.bounded(
    "group.share.heartbeat.interval.ms",
    (5000, 5000, 15_000),
    "How often a member of a share group sends heartbeats.",
)
SHARE_ASSIGNMENT_INTERVAL = SHARE.bounded(
    "group.share.assignment.interval.ms",
    (1000, 0, 15_000),
    "The minimum time between two computations of a share group's assignment (KIP-1263).",
    ranges=((0, None), (0, None), (0, None)),
    live=Live.CLUSTER_WIDE,
)
SHARE_DELIVERY_COUNT_LIMIT = SHARE.bounded(
    "group.share.delivery.count.limit",
    (5, 2, 10),
    "How often a record is delivered before it is archived (KIP-1240).",
    ranges=((2, 10), (2, 5), (5, 25)),
)
SHARE_PARTITION_MAX_RECORD_LOCKS = SHARE.bounded(
    "group.share.partition.max.record.locks",
    (2000, 100, 4000),
    "How many records of a partition may be acquired at once (KIP-1240).",
    ranges=((100, 10_000), (100, 2000), (2000, 10_000)),
)
SHARE_RECORD_LOCK_DURATION = SHARE.bounded(
    "group.share.record.lock.duration.ms",
    (30_000, 15_000, 60_000),
    "How long a member has to acknowledge a record before it is delivered again.",
    ranges=((1000, 3_600_000), (1000, 30_000), (30_000, 3_600_000)),
)
GROUP_SHARE_SESSION_TIMEOUT_MS = SHARE_SESSION_TIMEOUT.setting
GROUP_SHARE_HEARTBEAT_INTERVAL_MS = SHARE_HEARTBEAT_INTERVAL.setting
GROUP_SHARE_ASSIGNMENT_INTERVAL_MS = SHARE_ASSIGNMENT_INTERVAL.setting
GROUP_SHARE_DELIVERY_COUNT_LIMIT = SHARE_DELIVERY_COUNT_LIMIT.setting
GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS = SHARE_PARTITION_MAX_RECORD_LOCKS.setting
GROUP_SHARE_RECORD_LOCK_DURATION_MS = SHARE_RECORD_LOCK_DURATION.setting
GROUP_SHARE_MAX_SIZE = SHARE.integer(
    "group.share.max.size", 200, "How many members a share group may have.", at_least=1, at_most=1000
)
GROUP_SHARE_MAX_SHARE_SESSIONS = SHARE.integer(
    "group.share.max.share.sessions",
    2000,
    "How many share sessions a broker keeps.",
    at_least=1,
)

SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS = SHARE.integer(
    "share.coordinator.state.topic.num.partitions",
    50,
    "Partitions of `__share_group_state`; fixed once it exists.",
    at_least=1,
)
SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR = SHARE.short(
    "share.coordinator.state.topic.replication.factor",
    3,
    "Replicas of `__share_group_state`; at most the number of brokers when it is created.",
    at_least=1,
)
SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR = SHARE.short(
    "share.coordinator.state.topic.min.isr",
    2,
    "`min.insync.replicas` of `__share_group_state`; at most its number of replicas.",
    at_least=1,
)
SHARE_COORDINATOR_STATE_TOPIC_SEGMENT_BYTES = SHARE.integer(
    "share.coordinator.state.topic.segment.bytes",
    104_857_600,
    "Segment size of `__share_group_state`.",
    at_least=1,
)
SHARE_COORDINATOR_STATE_TOPIC_COMPRESSION_CODEC = SHARE.integer(
    "share.coordinator.state.topic.compression.codec",
    0,
    "Compression of its batches: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    at_least=0,
    at_most=4,
)
SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT = SHARE.integer(
    "share.coordinator.snapshot.update.records.per.snapshot",
    500,
    "How many changes of a share partition's state are written between two full snapshots of it.",
    at_least=0,
    at_most=500,
)
SHARE_COORDINATOR_WRITE_TIMEOUT_MS = SHARE.integer(
    "share.coordinator.write.timeout.ms",
    5000,
    "How long a change of a share partition's state waits for its replicas.",
    at_least=1,
)
SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS = SHARE.integer(
    "share.coordinator.state.topic.prune.interval.ms",
    300_000,
    "How often records of `__share_group_state` that are not needed any more are deleted.",
    at_least=1,
)
SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS = SHARE.integer(
    "share.coordinator.cold.partition.snapshot.interval.ms",
    300_000,
    "The longest age of a share partition's snapshot before a new one is written, so that the log can be pruned.",
    at_least=1,
)

OFFSETS = Section("Committed offsets")

OFFSETS_TOPIC_NUM_PARTITIONS = OFFSETS.integer(
    "offsets.topic.num.partitions",
    50,
    "Partitions of `__consumer_offsets`; fixed once it exists.",
    at_least=1,
)
OFFSETS_TOPIC_REPLICATION_FACTOR = OFFSETS.short(
    "offsets.topic.replication.factor",
    3,
    "Replicas of `__consumer_offsets`; at most the number of brokers when it is created.",
    at_least=1,
)
OFFSETS_TOPIC_SEGMENT_BYTES = OFFSETS.integer(
    "offsets.topic.segment.bytes",
    104_857_600,
    "Segment size of `__consumer_offsets`: small, so that it loads quickly.",
    at_least=1,
)
OFFSETS_TOPIC_COMPRESSION_CODEC = OFFSETS.integer(
    "offsets.topic.compression.codec",
    0,
    "Compression of its batches: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    at_least=0,
    at_most=4,
)
OFFSETS_RETENTION_MINUTES = OFFSETS.integer(
    "offsets.retention.minutes", 10_080, "How long an empty group's offsets are kept.", at_least=1
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS = OFFSETS.long(
    "offsets.retention.check.interval.ms", 600_000, "How often expired offsets are removed.", at_least=1
)
OFFSETS_COMMIT_TIMEOUT_MS = OFFSETS.integer(
    "offsets.commit.timeout.ms", 5000, "How long a commit waits for its replicas.", at_least=1
)
OFFSET_METADATA_MAX_BYTES = OFFSETS.integer(
    "offset.metadata.max.bytes", 4096, "The longest metadata that may be committed with an offset."
)

TRANSACTIONS = Section("Transactions")

TRANSACTION_STATE_LOG_NUM_PARTITIONS = TRANSACTIONS.integer(
    "transaction.state.log.num.partitions",
    50,
    "Partitions of `__transaction_state`; fixed once it exists.",
    at_least=1,
)
TRANSACTION_STATE_LOG_REPLICATION_FACTOR = TRANSACTIONS.short(
    "transaction.state.log.replication.factor",
    3,
    "Replicas of `__transaction_state`; at most the number of brokers when it is created.",
    at_least=1,
)
TRANSACTION_STATE_LOG_MIN_ISR = TRANSACTIONS.integer(
    "transaction.state.log.min.isr",
    2,
    "`min.insync.replicas` of `__transaction_state`; at most its number of replicas.",
    at_least=1,
)
TRANSACTION_STATE_LOG_SEGMENT_BYTES = TRANSACTIONS.integer(
    "transaction.state.log.segment.bytes", 104_857_600, "Segment size of `__transaction_state`.", at_least=1
)
TRANSACTION_MAX_TIMEOUT_MS = TRANSACTIONS.integer(
    "transaction.max.timeout.ms",
    900_000,
    "The longest timeout a transactional producer may ask for.",
    at_least=1,
)
TRANSACTIONAL_ID_EXPIRATION_MS = TRANSACTIONS.integer(
    "transactional.id.expiration.ms",
    604_800_000,
    "How long an idle transactional id is kept.",
    at_least=1,
)
TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS = TRANSACTIONS.integer(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    10_000,
    "How often timed-out transactions are aborted.",
    at_least=1,
)
TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS = TRANSACTIONS.integer(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    3_600_000,
    "How often expired transactional ids are removed.",
    at_least=1,
)
TRANSACTION_PARTITION_VERIFICATION_ENABLE = TRANSACTIONS.boolean(
    "transaction.partition.verification.enable",
    True,
    "Whether a partition asks the coordinator if a transaction is open before it takes its records (KIP-890).",
)
UNSTABLE_API_VERSIONS_ENABLE = TRANSACTIONS.boolean(
    "unstable.api.versions.enable",
    False,
    "Whether clients are shown versions that Kafka calls unstable: InitProducerId 6, for two-phase commit (KIP-939).",
)
TRANSACTION_TWO_PHASE_COMMIT_ENABLE = TRANSACTIONS.boolean(
    "transaction.two.phase.commit.enable",
    False,
    "Whether clients may keep transactions open for two-phase commit (KIP-939).",
)

SECTIONS = (GROUPS, SHARE, OFFSETS, TRANSACTIONS)
