"""The tables of products and targets. A target is a product, the settings of a stream on it, and the durability of its
acknowledgements.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from penstock_bench.peers.cluster import Product
from penstock_bench.peers.products.kafka import Kafka, Penstock
from penstock_bench.peers.products.nats import Nats
from penstock_bench.peers.products.rabbitmq import Rabbit
from penstock_bench.peers.products.redis import Redis

Durability = Literal["synced before ack", "page cache"]
SYNCED: Durability = "synced before ack"
PAGE_CACHE: Durability = "page cache"

_UNSYNCED = {"flush.messages": str(2**63 - 1)}  # a Penstock topic that acknowledges from the page cache
_FLUSHED = {"flush.messages": "1"}
_TWO_REPLICAS = {"min.insync.replicas": "2"}


class Target(msgspec.Struct, frozen=True, eq=False):
    """`product_name` names a product of `PRODUCTS`; `options` are the stream's settings by the product's own names."""

    name: str
    product_name: str
    durability: Durability = SYNCED
    options: dict[str, str] = {}

    @property
    def product(self) -> Product:
        return PRODUCTS[self.product_name]

    @property
    def is_ours(self) -> bool:
        return isinstance(self.product, Penstock)


PRODUCTS: Final[dict[str, Product]] = {
    each.name: each
    for each in (
        Penstock("Penstock"),
        Kafka("Apache Kafka"),
        Nats("NATS JetStream"),
        Redis("Redis Streams"),
        Rabbit("RabbitMQ"),
        Kafka("Apache Kafka, every log flushed", settings={"log.flush.interval.messages": "1"}),
        Penstock("Penstock, 3 nodes", 3),
        Kafka("Apache Kafka, 3 nodes", 3),
        Nats("NATS JetStream, 3 nodes, sync_interval always", 3),
        Nats("NATS JetStream, 3 nodes", 3, sync_interval=""),
        Rabbit("RabbitMQ, 3 nodes", 3),
    )
}

PENSTOCK = "Penstock"
PENSTOCK_CACHED = "Penstock, page cache"
KAFKA_CACHED = "Kafka"
KAFKA_SYNCED = "Kafka, flush.messages=1"

TARGETS: Final = (
    Target(PENSTOCK, "Penstock"),
    Target(KAFKA_SYNCED, "Apache Kafka", options=_FLUSHED),
    Target("NATS JetStream", "NATS JetStream"),
    Target("Redis Streams", "Redis Streams"),
    Target("RabbitMQ, classic queue", "RabbitMQ", options={"x-queue-type": "classic"}),
    Target("RabbitMQ, quorum queue", "RabbitMQ", options={"x-queue-type": "quorum"}),
    Target(PENSTOCK_CACHED, "Penstock", PAGE_CACHE, _UNSYNCED),
    Target(KAFKA_CACHED, "Apache Kafka", PAGE_CACHE),
)

# Transactions are also written to the logs of coordinators, which must be synced, too.
KAFKA_ALL_SYNCED = "Kafka, log.flush.interval.messages=1"
TRANSACTION_TARGETS: Final = (TARGETS[0], Target(KAFKA_ALL_SYNCED, "Apache Kafka, every log flushed"))

CLUSTER_TARGETS: Final = (
    Target(PENSTOCK, "Penstock, 3 nodes", options=_TWO_REPLICAS),
    Target(KAFKA_SYNCED, "Apache Kafka, 3 nodes", options={**_TWO_REPLICAS, **_FLUSHED}),
    Target("NATS JetStream, sync_interval always", "NATS JetStream, 3 nodes, sync_interval always"),
    Target(
        "RabbitMQ, quorum queue",
        "RabbitMQ, 3 nodes",
        # Not all leaders on the node that the queues were declared on.
        options={"x-queue-type": "quorum", "x-queue-leader-locator": "balanced"},
    ),
    Target(PENSTOCK_CACHED, "Penstock, 3 nodes", PAGE_CACHE, {**_TWO_REPLICAS, **_UNSYNCED}),
    Target(KAFKA_CACHED, "Apache Kafka, 3 nodes", PAGE_CACHE, _TWO_REPLICAS),
    Target("NATS JetStream", "NATS JetStream, 3 nodes", PAGE_CACHE),
)

# No server: a process that appends one message after the other to a file, with a sync after each.
BARE_LOOP = Target("bare fdatasync loop", "")

# The pairs that are compared: Penstock over a peer, at the same durability. Kafka has a pair for each durability.
# `OTHERS` are NATS, Redis and RabbitMQ.
OTHERS: Final = tuple((PENSTOCK, each.name) for each in TARGETS if each.product.dialect != "kafka")
KAFKA: Final = ((PENSTOCK, KAFKA_SYNCED), (PENSTOCK_CACHED, KAFKA_CACHED))
KAFKA_TRANSACTIONS: Final = ((PENSTOCK, KAFKA_ALL_SYNCED),)
LOOP: Final = ((PENSTOCK, BARE_LOOP.name),)


def comparable_pairs(targets: Sequence[Target]) -> list[tuple[str, str]]:
    """Pair each target of Penstock with each peer of the same durability."""
    return [
        (ours.name, theirs.name)
        for ours in targets
        for theirs in targets
        if ours.is_ours and not theirs.is_ours and ours.durability == theirs.durability
    ]


def speaks_kafka(target: Target) -> bool:
    return target.product.dialect == "kafka"


def one_of_each_product(targets: Iterable[Target]) -> list[Target]:
    """Return the first target of each product, for measurements that depend on the product only."""
    found: dict[str, Target] = {}
    for target in targets:
        found.setdefault(target.product_name, target)
    return list(found.values())
