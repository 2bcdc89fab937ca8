"""Broker settings about topics, replicas, the metadata quorum and leaving the cluster."""

from penstock.config.property import LONG_MAX, Live
from penstock.config.section import Section

TOPICS = Section("Topics")

NUM_PARTITIONS = TOPICS.integer(
    "num.partitions", 1, "Partitions of a topic that is created without a number.", at_least=1
)
DEFAULT_REPLICATION_FACTOR = TOPICS.integer(
    "default.replication.factor", 1, "Replication factor of a topic that is created without one.", at_least=1
)
AUTO_CREATE_TOPICS_ENABLE = TOPICS.boolean(
    "auto.create.topics.enable", True, "Whether a topic is created when a client first asks for it."
)
DELETE_TOPIC_ENABLE = TOPICS.boolean("delete.topic.enable", True, "Whether topics may be deleted.")

REPLICAS = Section("Replication")

REPLICA_LAG_TIME_MAX_MS = REPLICAS.long(
    "replica.lag.time.max.ms",
    30_000,
    "A follower that has not caught up for this long leaves the in-sync set.",
)
REPLICA_SOCKET_TIMEOUT_MS = REPLICAS.integer(
    "replica.socket.timeout.ms", 30_000, "How long a follower waits for the leader's response."
)
REPLICA_FETCH_MAX_BYTES = REPLICAS.integer(
    "replica.fetch.max.bytes",
    1_048_576,
    "The maximum number of bytes of one partition in a follower's fetch.",
    at_least=0,
)
REPLICA_FETCH_WAIT_MAX_MS = REPLICAS.integer(
    "replica.fetch.wait.max.ms",
    500,
    "How long a leader may delay the response to a follower's fetch if there are no new records.",
)
REPLICA_FETCH_MIN_BYTES = REPLICAS.integer(
    "replica.fetch.min.bytes", 1, "The minimum number of bytes in the leader's response."
)
REPLICA_FETCH_RESPONSE_MAX_BYTES = REPLICAS.integer(
    "replica.fetch.response.max.bytes",
    10_485_760,
    "The maximum number of bytes in a follower's fetch.",
    at_least=0,
)
REPLICA_FETCH_BACKOFF_MS = REPLICAS.integer(
    "replica.fetch.backoff.ms", 100, "The backoff of a follower after a failed fetch.", at_least=0
)
LEADER_REPLICATION_THROTTLED_RATE = REPLICAS.long(
    "leader.replication.throttled.rate",
    LONG_MAX,
    "Bytes per second that this broker sends to followers that lag behind, for the replicas in "
    "`leader.replication.throttled.replicas` of their topics.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
FOLLOWER_REPLICATION_THROTTLED_RATE = REPLICAS.long(
    "follower.replication.throttled.rate",
    LONG_MAX,
    "Bytes per second that this broker fetches to catch up, for the replicas in "
    "`follower.replication.throttled.replicas` of their topics.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
REPLICATION_QUOTA_WINDOW_NUM = REPLICAS.integer(
    "replication.quota.window.num",
    11,
    "The number of samples over which these rates are measured.",
    at_least=1,
)
REPLICATION_QUOTA_WINDOW_SIZE_SECONDS = REPLICAS.integer(
    "replication.quota.window.size.seconds", 1, "The duration of each of these samples.", at_least=1
)
REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS = REPLICAS.long(
    "replica.high.watermark.checkpoint.interval.ms", 5000, "How often high watermarks are checkpointed."
)
REPLICA_SELECTOR_CLASS = REPLICAS.optional_string(
    "replica.selector.class",
    "The replica that consumers read from: `org.apache.kafka.common.replica.RackAwareReplicaSelector` prefers"
    " the consumer's own rack (KIP-392). Unset, the leader.",
)
AUTO_LEADER_REBALANCE_ENABLE = REPLICAS.boolean(
    "auto.leader.rebalance.enable",
    True,
    "Whether leadership returns to the preferred replicas automatically.",
)
LEADER_IMBALANCE_PER_BROKER_PERCENTAGE = REPLICAS.integer(
    "leader.imbalance.per.broker.percentage", 10, "The share of misplaced leaders that is tolerated."
)
LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS = REPLICAS.long(
    "leader.imbalance.check.interval.seconds",
    300,
    "How often the controller checks for misplaced leaders.",
    at_least=1,
)
CONTROLLED_SHUTDOWN_ENABLE = REPLICAS.boolean(
    "controlled.shutdown.enable", True, "Whether a broker hands its leaderships over before it stops."
)
CONTROLLED_SHUTDOWN_MAX_RETRIES = REPLICAS.integer(
    "controlled.shutdown.max.retries",
    3,
    "How often a controlled shutdown is tried before the broker stops without one.",
)
CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS = REPLICAS.long(
    "controlled.shutdown.retry.backoff.ms", 5000, "The delay between these attempts."
)

QUORUM = Section("Metadata quorum")

CONTROLLER_QUORUM_BOOTSTRAP_SERVERS = QUORUM.names(
    "controller.quorum.bootstrap.servers",
    (),
    "Controllers of a running cluster, as host:port, of Apache Kafka or of Penstock: a node that is not one of them "
    "joins their cluster.",
)
CONTROLLER_QUORUM_VOTERS = QUORUM.names(
    "controller.quorum.voters",
    (),
    "The voters of a static quorum, as id@host:port: a node without the role `controller` joins their cluster. "
    "Otherwise the voters are in the metadata log, and a new node joins with `penstock up --join`.",
)
CONTROLLER_QUORUM_AUTO_JOIN_ENABLE = QUORUM.boolean(
    "controller.quorum.auto.join.enable",
    False,
    "Whether a node that joins through `controller.quorum.bootstrap.servers` becomes a voter (KIP-1186). A node that "
    "joins with `penstock up --join` always does.",
)
CONTROLLER_QUORUM_ELECTION_TIMEOUT_MS = QUORUM.integer(
    "controller.quorum.election.timeout.ms", 400, "How long a candidate waits for votes."
)
CONTROLLER_QUORUM_FETCH_TIMEOUT_MS = QUORUM.integer(
    "controller.quorum.fetch.timeout.ms",
    800,
    "How long a follower of the quorum waits for a response before it starts an election.",
)
CONTROLLER_QUORUM_ELECTION_BACKOFF_MAX_MS = QUORUM.integer(
    "controller.quorum.election.backoff.max.ms", 500, "The longest backoff after a lost election."
)
CONTROLLER_QUORUM_REQUEST_TIMEOUT_MS = QUORUM.integer(
    "controller.quorum.request.timeout.ms", 2000, "How long a node waits for another voter's response."
)
CONTROLLER_QUORUM_RETRY_BACKOFF_MS = QUORUM.integer(
    "controller.quorum.retry.backoff.ms", 20, "The backoff before a request to a voter is retried."
)
METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS = QUORUM.long(
    "metadata.log.max.record.bytes.between.snapshots",
    20_971_520,
    "How much metadata is written until the next snapshot.",
    at_least=1,
)
INITIAL_BROKER_REGISTRATION_TIMEOUT_MS = QUORUM.integer(
    "initial.broker.registration.timeout.ms",
    60_000,
    "How long a broker tries to register before it stops.",
)
BROKER_HEARTBEAT_INTERVAL_MS = QUORUM.integer(
    "broker.heartbeat.interval.ms", 400, "How often a broker sends heartbeats to the controller."
)
BROKER_SESSION_TIMEOUT_MS = QUORUM.integer(
    "broker.session.timeout.ms", 2000, "How long without a heartbeat until a broker is fenced."
)

SECTIONS = (TOPICS, REPLICAS, QUORUM)
