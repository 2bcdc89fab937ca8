"""Broker settings about consumer groups, committed offsets, transactions and share groups."""

from penstock.config.property import INT_MAX, Live, not_empty
from penstock.config.theme import Theme

GROUPS = Theme("Consumer groups")

GROUP_MIN_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.min.session.timeout.ms", 6000, "The shortest session timeout a member may ask for."
)
GROUP_MAX_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.max.session.timeout.ms", 1_800_000, "The longest session timeout a member may ask for."
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
GROUP_CONSUMER_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.consumer.session.timeout.ms",
    45_000,
    "How long a member of a KIP-848 group may be silent before it is removed.",
    at_least=1,
)
GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.consumer.min.session.timeout.ms", 45_000, "The least a group may set for it.", at_least=1
)
GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS = GROUPS.integer(
    "group.consumer.max.session.timeout.ms", 60_000, "The most a group may set for it.", at_least=1
)
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS = GROUPS.integer(
    "group.consumer.heartbeat.interval.ms", 5000, "How often a member of a KIP-848 group reports.", at_least=1
)
GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS = GROUPS.integer(
    "group.consumer.min.heartbeat.interval.ms", 5000, "The least a group may set for it.", at_least=1
)
GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS = GROUPS.integer(
    "group.consumer.max.heartbeat.interval.ms", 15_000, "The most a group may set for it.", at_least=1
)
GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS = GROUPS.integer(
    "group.consumer.assignment.interval.ms",
    1000,
    "How long a KIP-848 group rests between two computations of its assignment (KIP-1263).",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS = GROUPS.integer(
    "group.consumer.min.assignment.interval.ms", 0, "The least a group may set for it.", at_least=0
)
GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS = GROUPS.integer(
    "group.consumer.max.assignment.interval.ms", 15_000, "The most a group may set for it.", at_least=0
)
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

SHARE = Theme("Share groups")

GROUP_SHARE_SESSION_TIMEOUT_MS = SHARE.integer(
    "group.share.session.timeout.ms",
    45_000,
    "How long a member of a share group may be silent before it is removed.",
    at_least=1,
)
GROUP_SHARE_MIN_SESSION_TIMEOUT_MS = SHARE.integer(
    "group.share.min.session.timeout.ms", 45_000, "The least a group may set for it.", at_least=1
)
GROUP_SHARE_MAX_SESSION_TIMEOUT_MS = SHARE.integer(
    "group.share.max.session.timeout.ms", 60_000, "The most a group may set for it.", at_least=1
)
GROUP_SHARE_HEARTBEAT_INTERVAL_MS = SHARE.integer(
    "group.share.heartbeat.interval.ms",
    5000,
    "How often a member of a share group reports.",
    at_least=1,
)
GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS = SHARE.integer(
    "group.share.min.heartbeat.interval.ms", 5000, "The least a group may set for it.", at_least=1
)
GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS = SHARE.integer(
    "group.share.max.heartbeat.interval.ms", 15_000, "The most a group may set for it.", at_least=1
)
GROUP_SHARE_ASSIGNMENT_INTERVAL_MS = SHARE.integer(
    "group.share.assignment.interval.ms",
    1000,
    "How long a share group rests between two computations of its assignment (KIP-1263).",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS = SHARE.integer(
    "group.share.min.assignment.interval.ms", 0, "The least a group may set for it.", at_least=0
)
GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS = SHARE.integer(
    "group.share.max.assignment.interval.ms", 15_000, "The most a group may set for it.", at_least=0
)
GROUP_SHARE_MAX_SIZE = SHARE.integer(
    "group.share.max.size",
    200,
    "How many members a share group may have.",
    at_least=1,
    at_most=1000,
)
GROUP_SHARE_DELIVERY_COUNT_LIMIT = SHARE.integer(
    "group.share.delivery.count.limit",
    5,
    "How often a record is delivered before it is given up.",
    at_least=2,
    at_most=10,
)
GROUP_SHARE_MIN_DELIVERY_COUNT_LIMIT = SHARE.integer(
    "group.share.min.delivery.count.limit", 2, "The least a group may set for it.", at_least=2, at_most=5
)
GROUP_SHARE_MAX_DELIVERY_COUNT_LIMIT = SHARE.integer(
    "group.share.max.delivery.count.limit", 10, "The most a group may set for it.", at_least=5, at_most=25
)
GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS = SHARE.integer(
    "group.share.partition.max.record.locks",
    2000,
    "How many records of a partition may be out for delivery at once.",
    at_least=100,
    at_most=10_000,
)
GROUP_SHARE_MIN_PARTITION_MAX_RECORD_LOCKS = SHARE.integer(
    "group.share.min.partition.max.record.locks",
    100,
    "The least a group may set for it.",
    at_least=100,
    at_most=2000,
)
GROUP_SHARE_MAX_PARTITION_MAX_RECORD_LOCKS = SHARE.integer(
    "group.share.max.partition.max.record.locks",
    4000,
    "The most a group may set for it.",
    at_least=2000,
    at_most=10_000,
)
GROUP_SHARE_RECORD_LOCK_DURATION_MS = SHARE.integer(
    "group.share.record.lock.duration.ms",
    30_000,
    "How long a member has to acknowledge a record before others get it.",
    at_least=1000,
    at_most=3_600_000,
)
GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS = SHARE.integer(
    "group.share.min.record.lock.duration.ms",
    15_000,
    "The least a group may set for it.",
    at_least=1000,
    at_most=30_000,
)
GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS = SHARE.integer(
    "group.share.max.record.lock.duration.ms",
    60_000,
    "The most a group may set for it.",
    at_least=30_000,
    at_most=3_600_000,
)
GROUP_SHARE_MAX_SHARE_SESSIONS = SHARE.integer(
    "group.share.max.share.sessions",
    2000,
    "How many members of share groups may fetch of one broker at a time.",
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
    "Replicas of `__share_group_state`; no more than there are brokers when it is made.",
    at_least=1,
)
SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR = SHARE.short(
    "share.coordinator.state.topic.min.isr",
    2,
    "`min.insync.replicas` of `__share_group_state`; no more than it has replicas.",
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
    "How often `__share_group_state` is cut before what is needed of it.",
    at_least=1,
)
SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS = SHARE.integer(
    "share.coordinator.cold.partition.snapshot.interval.ms",
    300_000,
    "How old the snapshot of a share partition may get before a new one is written, so that the log can be cut.",
    at_least=1,
)
SHARE_COORDINATOR_LOAD_BUFFER_SIZE = SHARE.integer(
    "share.coordinator.load.buffer.size",
    5_242_880,
    "How much is read at a time when state is loaded.",
    at_least=1,
    ignored=True,
)
SHARE_COORDINATOR_THREADS = SHARE.integer(
    "share.coordinator.threads", 1, "Threads of the share coordinator.", at_least=1, ignored=True
)
SHARE_COORDINATOR_APPEND_LINGER_MS = SHARE.integer(
    "share.coordinator.append.linger.ms",
    -1,
    "How long writes gather before they go to the disk.",
    at_least=-1,
    ignored=True,
)

OFFSETS = Theme("Committed offsets")

OFFSETS_TOPIC_NUM_PARTITIONS = OFFSETS.integer(
    "offsets.topic.num.partitions",
    50,
    "Partitions of `__consumer_offsets`; fixed once it exists.",
    at_least=1,
)
OFFSETS_TOPIC_REPLICATION_FACTOR = OFFSETS.short(
    "offsets.topic.replication.factor",
    3,
    "Replicas of `__consumer_offsets`; no more than there are brokers when it is made.",
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
    "offsets.retention.check.interval.ms", 600_000, "How often expired offsets are looked for.", at_least=1
)
OFFSETS_COMMIT_TIMEOUT_MS = OFFSETS.integer(
    "offsets.commit.timeout.ms", 5000, "How long a commit waits for its replicas.", at_least=1
)
OFFSETS_LOAD_BUFFER_SIZE = OFFSETS.integer(
    "offsets.load.buffer.size",
    5_242_880,
    "How much is read at a time when offsets are loaded.",
    at_least=1,
    ignored=True,
)
OFFSET_METADATA_MAX_BYTES = OFFSETS.integer(
    "offset.metadata.max.bytes", 4096, "The longest note that may be committed with an offset."
)

TRANSACTIONS = Theme("Transactions")

TRANSACTION_STATE_LOG_NUM_PARTITIONS = TRANSACTIONS.integer(
    "transaction.state.log.num.partitions",
    50,
    "Partitions of `__transaction_state`; fixed once it exists.",
    at_least=1,
)
TRANSACTION_STATE_LOG_REPLICATION_FACTOR = TRANSACTIONS.short(
    "transaction.state.log.replication.factor",
    3,
    "Replicas of `__transaction_state`; no more than there are brokers when it is made.",
    at_least=1,
)
TRANSACTION_STATE_LOG_MIN_ISR = TRANSACTIONS.integer(
    "transaction.state.log.min.isr",
    2,
    "`min.insync.replicas` of `__transaction_state`; no more than it has replicas.",
    at_least=1,
)
TRANSACTION_STATE_LOG_SEGMENT_BYTES = TRANSACTIONS.integer(
    "transaction.state.log.segment.bytes", 104_857_600, "Segment size of `__transaction_state`.", at_least=1
)
TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE = TRANSACTIONS.integer(
    "transaction.state.log.load.buffer.size",
    5_242_880,
    "How much is read at a time when state is loaded.",
    at_least=1,
    ignored=True,
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
    "How long a quiet transactional id is remembered.",
    at_least=1,
)
TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS = TRANSACTIONS.integer(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    10_000,
    "How often transactions that ran out of time are aborted.",
    at_least=1,
)
TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS = TRANSACTIONS.integer(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    3_600_000,
    "How often quiet transactional ids are looked for.",
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

THEMES = (GROUPS, SHARE, OFFSETS, TRANSACTIONS)
