"""The table of clusters, with the durability of their acknowledgements."""

from penstock_bench.peers.clusters import ClusterServer
from penstock_bench.peers.clusters.kafka import KafkaCluster, PenstockCluster
from penstock_bench.peers.clusters.nats import NatsCluster
from penstock_bench.peers.clusters.rabbitmq import RabbitCluster
from penstock_bench.peers.targets import (
    KAFKA_CACHED,
    KAFKA_SYNCED,
    PAGE_CACHE,
    PENSTOCK,
    PENSTOCK_CACHED,
    SYNCED,
    UNSYNCED,
    Target,
)

_TWO_REPLICAS = {"min.insync.replicas": "2"}
_NATS_SYNCED, _NATS_CACHED = "NATS JetStream, sync_interval always", "NATS JetStream"

CLUSTERS: tuple[ClusterServer, ...] = (
    PenstockCluster("Penstock, 3 nodes"),
    KafkaCluster("Apache Kafka, 3 nodes"),
    NatsCluster("NATS JetStream, 3 nodes, sync_interval always"),
    NatsCluster("NATS JetStream, 3 nodes", sync_interval=""),
    RabbitCluster(),
)

CLUSTER_TARGETS: tuple[Target, ...] = (
    Target(name=PENSTOCK, server="Penstock, 3 nodes", durability=SYNCED, options=_TWO_REPLICAS, is_ours=True),
    Target(
        name=KAFKA_SYNCED,
        server="Apache Kafka, 3 nodes",
        durability=SYNCED,
        options={**_TWO_REPLICAS, "flush.messages": "1"},
    ),
    Target(name=_NATS_SYNCED, server="NATS JetStream, 3 nodes, sync_interval always", durability=SYNCED),
    Target(
        name="RabbitMQ, quorum queue",
        server="RabbitMQ, 3 nodes",
        durability=SYNCED,
        # Not all leaders on the node that the queues were declared on.
        options={"x-queue-type": "quorum", "x-queue-leader-locator": "balanced"},
    ),
    Target(
        name=PENSTOCK_CACHED,
        server="Penstock, 3 nodes",
        durability=PAGE_CACHE,
        options={**_TWO_REPLICAS, **UNSYNCED},
        is_ours=True,
    ),
    Target(name=KAFKA_CACHED, server="Apache Kafka, 3 nodes", durability=PAGE_CACHE, options=_TWO_REPLICAS),
    Target(name=_NATS_CACHED, server="NATS JetStream, 3 nodes", durability=PAGE_CACHE),
)


def cluster_named(name: str) -> ClusterServer:
    return next(cluster for cluster in CLUSTERS if cluster.name == name)
