"""Broker settings about topics, replicas, the metadata quorum and leaving the cluster."""

from penstock.config.property import LONG_MAX, Live
from penstock.config.theme import Theme

TOPICS = Theme("Topics")

NUM_PARTITIONS = TOPICS.integer(
    "num.partitions", 1, "Partitions of a topic made without saying how many.", at_least=1
)
DEFAULT_REPLICATION_FACTOR = TOPICS.integer(
    "default.replication.factor", 1, "Replicas of a topic made without saying how many.", at_least=1
)
AUTO_CREATE_TOPICS_ENABLE = TOPICS.boolean(
    "auto.create.topics.enable", True, "Whether a topic comes into being when a client first asks for it."
)
DELETE_TOPIC_ENABLE = TOPICS.boolean("delete.topic.enable", True, "Whether topics may be deleted.")

REPLICAS = Theme("Replication")

REPLICA_LAG_TIME_MAX_MS = REPLICAS.long(
    "replica.lag.time.max.ms",
    30_000,
    "A follower that has not caught up for this long leaves the in-sync set.",
)
REPLICA_SOCKET_TIMEOUT_MS = REPLICAS.integer(
    "replica.socket.timeout.ms", 30_000, "How long a follower waits for an answer of the leader."
)
REPLICA_SOCKET_RECEIVE_BUFFER_BYTES = REPLICAS.integer(
    "replica.socket.receive.buffer.bytes",
    65_536,
    "SO_RCVBUF of a follower's connection to its leader.",
    ignored=True,
)
REPLICA_FETCH_MAX_BYTES = REPLICAS.integer(
    "replica.fetch.max.bytes", 1_048_576, "How much a follower asks of one partition at a time.", at_least=0
)
REPLICA_FETCH_WAIT_MAX_MS = REPLICAS.integer(
    "replica.fetch.wait.max.ms", 500, "How long a leader may hold a follower's fetch that finds nothing new."
)
REPLICA_FETCH_MIN_BYTES = REPLICAS.integer(
    "replica.fetch.min.bytes", 1, "How much a leader gathers before it answers a follower."
)
REPLICA_FETCH_RESPONSE_MAX_BYTES = REPLICAS.integer(
    "replica.fetch.response.max.bytes", 10_485_760, "How much a follower asks for in one fetch.", at_least=0
)
REPLICA_FETCH_BACKOFF_MS = REPLICAS.integer(
    "replica.fetch.backoff.ms", 100, "How long a follower rests after a failed fetch.", at_least=0
)
NUM_REPLICA_FETCHERS = REPLICAS.integer(
    "num.replica.fetchers",
    1,
    "How many connections a follower keeps to each leader. It has one, which brings all partitions in one answer: they "
    "are synced together, and several would only make more and smaller syncs of it.",
    live=Live.CLUSTER_WIDE,
    ignored=True,
)
LEADER_REPLICATION_THROTTLED_RATE = REPLICAS.long(
    "leader.replication.throttled.rate",
    LONG_MAX,
    "Bytes a second that this broker gives to followers that have fallen behind, of the replicas that "
    "`leader.replication.throttled.replicas` of their topics names.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
FOLLOWER_REPLICATION_THROTTLED_RATE = REPLICAS.long(
    "follower.replication.throttled.rate",
    LONG_MAX,
    "Bytes a second that this broker fetches to catch up, of the replicas that "
    "`follower.replication.throttled.replicas` of their topics names.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
REPLICATION_QUOTA_WINDOW_NUM = REPLICAS.integer(
    "replication.quota.window.num", 11, "Over how many samples these rates are measured.", at_least=1
)
REPLICATION_QUOTA_WINDOW_SIZE_SECONDS = REPLICAS.integer(
    "replication.quota.window.size.seconds", 1, "How long each of these samples is.", at_least=1
)
REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS = REPLICAS.long(
    "replica.high.watermark.checkpoint.interval.ms", 5000, "How often the high watermarks are written down."
)
REPLICA_SELECTOR_CLASS = REPLICAS.optional_string(
    "replica.selector.class",
    "Which replica a reader is sent to: `org.apache.kafka.common.replica.RackAwareReplicaSelector` prefers the "
    "reader's own rack (KIP-392). Unset, the leader.",
)
AUTO_LEADER_REBALANCE_ENABLE = REPLICAS.boolean(
    "auto.leader.rebalance.enable", True, "Whether leadership goes back to the preferred replicas by itself."
)
LEADER_IMBALANCE_PER_BROKER_PERCENTAGE = REPLICAS.integer(
    "leader.imbalance.per.broker.percentage", 10, "The share of misplaced leaders that is tolerated."
)
LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS = REPLICAS.long(
    "leader.imbalance.check.interval.seconds", 300, "How often misplaced leaders are looked for.", at_least=1
)
CONTROLLED_SHUTDOWN_ENABLE = REPLICAS.boolean(
    "controlled.shutdown.enable", True, "Whether a broker hands its leaderships over before it stops."
)
CONTROLLED_SHUTDOWN_MAX_RETRIES = REPLICAS.integer(
    "controlled.shutdown.max.retries", 3, "How often handing over is tried before the broker just stops."
)
CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS = REPLICAS.long(
    "controlled.shutdown.retry.backoff.ms", 5000, "How long to rest between such tries."
)

QUORUM = Theme("Metadata quorum")

CONTROLLER_QUORUM_VOTERS = QUORUM.names(
    "controller.quorum.voters",
    (),
    "The voters, as id@host:port. Who votes is in the metadata log here, and a new node is told whom to join: "
    "`penstock up --join`.",
    ignored=True,
)
CONTROLLER_QUORUM_BOOTSTRAP_SERVERS = QUORUM.names(
    "controller.quorum.bootstrap.servers",
    (),
    "Where to find the quorum, as host:port (KIP-853): `penstock up --join` here, once.",
    ignored=True,
)
CONTROLLER_QUORUM_ELECTION_TIMEOUT_MS = QUORUM.integer(
    "controller.quorum.election.timeout.ms", 400, "How long a candidate waits for votes."
)
CONTROLLER_QUORUM_FETCH_TIMEOUT_MS = QUORUM.integer(
    "controller.quorum.fetch.timeout.ms",
    800,
    "How long without an answer until the leader is taken for lost.",
)
CONTROLLER_QUORUM_ELECTION_BACKOFF_MAX_MS = QUORUM.integer(
    "controller.quorum.election.backoff.max.ms", 500, "The longest rest after a lost election."
)
CONTROLLER_QUORUM_APPEND_LINGER_MS = QUORUM.integer(
    "controller.quorum.append.linger.ms",
    25,
    "How long metadata records wait for others to be written with.",
    ignored=True,
)
CONTROLLER_QUORUM_REQUEST_TIMEOUT_MS = QUORUM.integer(
    "controller.quorum.request.timeout.ms", 2000, "How long a node waits for an answer of another voter."
)
CONTROLLER_QUORUM_RETRY_BACKOFF_MS = QUORUM.integer(
    "controller.quorum.retry.backoff.ms", 20, "How long a node rests before it asks again."
)
METADATA_LOG_DIR = QUORUM.optional_string(
    "metadata.log.dir",
    "The directory of the metadata log. It lies with the other logs here: one lock, one set of checkpoints and one "
    "mark of a clean stop hold for all of them.",
    ignored=True,
)
METADATA_LOG_SEGMENT_BYTES = QUORUM.integer(
    "metadata.log.segment.bytes",
    1_073_741_824,
    "The size at which the metadata log rolls.",
    at_least=12,
    ignored=True,
)
METADATA_LOG_SEGMENT_MS = QUORUM.long(
    "metadata.log.segment.ms",
    604_800_000,
    "The age at which the metadata log rolls.",
    ignored=True,
)
METADATA_MAX_RETENTION_BYTES = QUORUM.long(
    "metadata.max.retention.bytes",
    104_857_600,
    "Size of metadata log and snapshots beyond which old ones go.",
    ignored=True,
)
METADATA_MAX_RETENTION_MS = QUORUM.long(
    "metadata.max.retention.ms",
    604_800_000,
    "Age beyond which old metadata log segments and snapshots go.",
    ignored=True,
)
METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS = QUORUM.long(
    "metadata.log.max.record.bytes.between.snapshots",
    20_971_520,
    "How much metadata is written until the next snapshot.",
    at_least=1,
)
METADATA_LOG_MAX_SNAPSHOT_INTERVAL_MS = QUORUM.long(
    "metadata.log.max.snapshot.interval.ms",
    3_600_000,
    "The longest time until the next snapshot; 0 never.",
    at_least=0,
    ignored=True,
)
METADATA_MAX_IDLE_INTERVAL_MS = QUORUM.integer(
    "metadata.max.idle.interval.ms",
    500,
    "How often an idle quorum writes a record that does nothing; 0 never.",
    at_least=0,
    ignored=True,
)
INITIAL_BROKER_REGISTRATION_TIMEOUT_MS = QUORUM.integer(
    "initial.broker.registration.timeout.ms",
    60_000,
    "How long a broker tries to register before it gives up.",
)
BROKER_HEARTBEAT_INTERVAL_MS = QUORUM.integer(
    "broker.heartbeat.interval.ms", 400, "How often a broker tells the controller that it is alive."
)
BROKER_SESSION_TIMEOUT_MS = QUORUM.integer(
    "broker.session.timeout.ms", 2000, "How long without a heartbeat until a broker is fenced."
)

THEMES = (TOPICS, REPLICAS, QUORUM)
