"""Broker settings about identity, listeners, connections and requests."""

from penstock.config.property import INT_MAX, Live, not_empty
from penstock.config.section import Section

IDENTITY = Section("Identity")

NODE_ID = IDENTITY.integer(
    "node.id", -1, "This node's number in the cluster. Unset, `broker.id` is used.", at_least=-1
)
BROKER_ID = IDENTITY.integer("broker.id", 1, "The older name of `node.id`.", at_least=-1)
BROKER_RACK = IDENTITY.optional_string(
    "broker.rack",
    "The rack or zone of this broker: replicas are spread over racks, and consumers prefer replicas in their own.",
)
PROCESS_ROLES = IDENTITY.names(
    "process.roles",
    ("broker", "controller"),
    "The roles of this node: store data (`broker`), be a member of the metadata quorum (`controller`), or both. "
    "A node that is only a controller has no other listeners than those in `controller.listener.names`. A node without "
    "the role `controller` joins the cluster of the controllers that the settings name.",
    choices=("broker", "controller"),
    check=not_empty,
)

LISTEN = Section("Listeners and connections")

LISTENERS = LISTEN.names(
    "listeners",
    ("PLAINTEXT://:9092",),
    "Where to listen, as NAME://host:port, comma-separated. An empty host is every interface; port 0 takes a "
    "free one. "
    "While the broker runs, a listener that is added is opened at once, and one that is removed is closed "
    "with its "
    "connections.",
    live=Live.PER_BROKER,
)
ADVERTISED_LISTENERS = LISTEN.optional_names(
    "advertised.listeners",
    "The addresses that clients connect to, in the form of `listeners`. Unset, `listeners` is used.",
)
LISTENER_SECURITY_PROTOCOL_MAP = LISTEN.string(
    "listener.security.protocol.map",
    "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
    "The security protocol of each listener, as NAME:PROTOCOL, comma-separated. Unset, a listener named "
    "CONTROLLER "
    "or in `controller.listener.names` uses PLAINTEXT.",
    live=Live.PER_BROKER,
)
INTER_BROKER_LISTENER_NAME = LISTEN.optional_string(
    "inter.broker.listener.name",
    "The listener that brokers use among themselves. Unset, the first listener whose protocol is "
    "`security.inter.broker.protocol`.",
)
SECURITY_INTER_BROKER_PROTOCOL = LISTEN.string(
    "security.inter.broker.protocol",
    "PLAINTEXT",
    "The security protocol between brokers, if `inter.broker.listener.name` is not set.",
    choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
)
CONTROLLER_LISTENER_NAMES = LISTEN.names(
    "controller.listener.names",
    (),
    "The listeners of the metadata quorum in a cluster with nodes of Apache Kafka; the first one is used to reach it. "
    "Unset, nodes use the brokers' listener.",
)
SOCKET_SEND_BUFFER_BYTES = LISTEN.integer(
    "socket.send.buffer.bytes",
    102_400,
    "SO_SNDBUF of a client's socket. With -1, or, unlike in Kafka, if it is not set, the operating system "
    "chooses the size and adapts it to the connection.",
    at_least=-1,
)
SOCKET_RECEIVE_BUFFER_BYTES = LISTEN.integer(
    "socket.receive.buffer.bytes",
    102_400,
    "SO_RCVBUF of a client's socket. With -1, or, unlike in Kafka, if it is not set, the operating system "
    "chooses the size and adapts it to the connection.",
    at_least=-1,
)
SOCKET_REQUEST_MAX_BYTES = LISTEN.integer(
    "socket.request.max.bytes",
    104_857_600,
    "The largest request accepted. A larger frame closes its connection before any of it is stored.",
    at_least=1,
)
SOCKET_LISTEN_BACKLOG_SIZE = LISTEN.integer(
    "socket.listen.backlog.size",
    50,
    "The number of connections that wait in the operating system to be accepted, up to its own limit. If it "
    "is not set, 1024.",
    at_least=1,
)
MAX_CONNECTIONS = LISTEN.integer(
    "max.connections",
    INT_MAX,
    "How many client connections this broker keeps at once; further ones are closed.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
MAX_CONNECTIONS_PER_IP = LISTEN.integer(
    "max.connections.per.ip",
    INT_MAX,
    "How many connections one address may have at once.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
MAX_CONNECTIONS_PER_IP_OVERRIDES = LISTEN.string(
    "max.connections.per.ip.overrides",
    "",
    "Other limits for some addresses, as address:count, comma-separated.",
    live=Live.CLUSTER_WIDE,
)
MAX_CONNECTION_CREATION_RATE = LISTEN.integer(
    "max.connection.creation.rate",
    INT_MAX,
    "How many connections are accepted in a second.",
    at_least=0,
    live=Live.CLUSTER_WIDE,
)
CONNECTIONS_MAX_IDLE_MS = LISTEN.long(
    "connections.max.idle.ms",
    600_000,
    "Idle time after which a connection is closed; -1: never.",
    at_least=-1,
)
CONNECTION_FAILED_AUTHENTICATION_DELAY_MS = LISTEN.integer(
    "connection.failed.authentication.delay.ms",
    100,
    "How long a failed login waits before its connection is closed, to slow guessing down.",
    at_least=0,
)

REQUESTS = Section("Requests")

QUEUED_MAX_REQUEST_BYTES = REQUESTS.long(
    "queued.max.request.bytes",
    -1,
    "How many bytes of requests may be at work before sockets are no longer read, and how many of answers may"
    " wait for "
    "clients to read them; -1 is a quarter of the machine's memory.",
)
FETCH_MAX_BYTES = REQUESTS.integer(
    "fetch.max.bytes",
    57_671_680,
    "The maximum size of a fetch response, whatever the client requests.",
    at_least=1024,
)
MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS = REQUESTS.integer(
    "max.incremental.fetch.session.cache.slots",
    1000,
    "How many incremental fetch sessions are kept (KIP-227).",
    at_least=0,
)
MAX_REQUEST_PARTITION_SIZE_LIMIT = REQUESTS.integer(
    "max.request.partition.size.limit",
    2000,
    "How many partitions one DescribeTopicPartitions answer lists.",
    at_least=1,
)
TELEMETRY_MAX_BYTES = REQUESTS.integer(
    "telemetry.max.bytes",
    1_048_576,
    "How many bytes of metrics a client may push at once, compressed and not (KIP-714).",
    at_least=1,
)

SECTIONS = (IDENTITY, LISTEN, REQUESTS)
