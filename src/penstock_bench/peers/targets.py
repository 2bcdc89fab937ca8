"""The table of targets: a server, the settings of a stream on it, and the durability of its acknowledgements."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from penstock_bench.peers.servers.kafka import KafkaServer
from penstock_bench.peers.servers.nats import NatsServer
from penstock_bench.peers.servers.penstock import PenstockServer
from penstock_bench.peers.servers.rabbitmq import RabbitServer
from penstock_bench.peers.servers.redis import RedisServer
from penstock_bench.peers.servers.running import Server

Durability = Literal["synced before ack", "page cache"]
SYNCED: Durability = "synced before ack"
PAGE_CACHE: Durability = "page cache"

UNSYNCED = {"flush.messages": str(2**63 - 1)}
"""Settings of a Penstock topic that acknowledges from the page cache."""


class Target(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """`server` names a server of `SERVERS`; `options` are the stream's settings by the product's own names."""

    name: str
    server: str
    durability: Durability
    options: dict[str, str] = {}
    is_ours: bool = False
    reads_consume: bool = False  # reading removes the messages; they are written again for the next round


SERVERS: tuple[Server, ...] = (
    PenstockServer(),
    KafkaServer(),
    NatsServer(),
    RedisServer(),
    RabbitServer(),
    KafkaServer("Apache Kafka, every log flushed", {"log.flush.interval.messages": "1"}),
)

PENSTOCK = "Penstock"
PENSTOCK_CACHED = "Penstock, page cache"
KAFKA_CACHED = "Kafka"
KAFKA_SYNCED = "Kafka, flush.messages=1"

TARGETS: tuple[Target, ...] = (
    Target(name=PENSTOCK, server="Penstock", durability=SYNCED, is_ours=True),
    Target(name=KAFKA_SYNCED, server="Apache Kafka", durability=SYNCED, options={"flush.messages": "1"}),
    Target(name="NATS JetStream", server="NATS JetStream", durability=SYNCED),
    Target(name="Redis Streams", server="Redis Streams", durability=SYNCED),
    Target(
        name="RabbitMQ, classic queue",
        server="RabbitMQ",
        durability=SYNCED,
        options={"x-queue-type": "classic"},
        reads_consume=True,
    ),
    Target(
        name="RabbitMQ, quorum queue",
        server="RabbitMQ",
        durability=SYNCED,
        options={"x-queue-type": "quorum"},
        reads_consume=True,
    ),
    Target(name=PENSTOCK_CACHED, server="Penstock", durability=PAGE_CACHE, options=UNSYNCED, is_ours=True),
    Target(name=KAFKA_CACHED, server="Apache Kafka", durability=PAGE_CACHE),
)

# Transactions are also written to the logs of coordinators, which must be synced, too.
KAFKA_ALL_SYNCED = "Kafka, log.flush.interval.messages=1"
TRANSACTION_TARGETS: tuple[Target, ...] = (
    *(target for target in TARGETS if target.name == PENSTOCK),
    Target(name=KAFKA_ALL_SYNCED, server="Apache Kafka, every log flushed", durability=SYNCED),
)

# No server: a process that appends one message after the other to a file, with a sync after each.
BARE_LOOP = Target(name="bare fdatasync loop", server="", durability=SYNCED)


def server_named(name: str) -> Server:
    return next(server for server in SERVERS if server.name == name)


def speaks_kafka(target: Target) -> bool:
    return server_named(target.server).dialect == "kafka"


def one_of_each_server(targets: Iterable[Target]) -> list[Target]:
    """Return the first target of each server, for measurements that depend on the server only."""
    found: dict[str, Target] = {}
    for target in targets:
        found.setdefault(target.server, target)
    return list(found.values())
