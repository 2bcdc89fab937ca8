"""Penstock and Apache Kafka as clusters. Kafka's protocol tells which node leads a partition."""

import os
from collections.abc import Sequence
from typing import Final

import confluent_kafka
from confluent_kafka.admin import AdminClient

from penstock_bench.peers.clusters import NODES, Site, StreamState
from penstock_bench.peers.servers.kafka import KafkaNode, KafkaServer
from penstock_bench.peers.servers.penstock import PenstockServer
from penstock_bench.peers.servers.running import Helper, PeerProcess
from penstock_bench.peers.tasks import Where
from penstock_bench.process import ServerFailed

_ANSWER_WITHIN_S: Final = 10.0


class PenstockCluster(PenstockServer):
    """The first node is started alone, the others join it."""

    starts_together = False

    def prepare(self, site: Site) -> list[Helper]:  # noqa: ARG002 - nothing to prepare
        return []

    def start_node(self, site: Site, number: int) -> PeerProcess:
        arguments = ["--node-id", str(number)]
        directory = os.path.join(site.directory(number), "data")
        if number > 1 and not os.path.exists(directory):
            arguments += ["--join", site.address(1)]
        return self.start(directory, site.new_log_path(number), site.ports[number], arguments)

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        return _stream_states(site, living, places)


class KafkaCluster(KafkaServer):
    """Nodes that are broker and controller, with a fixed set of voters."""

    starts_together = True

    def prepare(self, site: Site) -> list[Helper]:
        for number in NODES:
            _node(site, number).format_storage(site.new_log_path(number))
        return []

    def start_node(self, site: Site, number: int) -> PeerProcess:
        return _node(site, number).start(site.new_log_path(number))

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        return _stream_states(site, living, places)


def _node(site: Site, number: int) -> KafkaNode:
    return KafkaNode(site.directory(number), number, site.ports[number], site.peer_ports)


def _stream_states(site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
    """Places are partitions of one topic; a partition that the metadata does not name yet has no leader."""
    bootstrap = ",".join(site.address(number) for number in living)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        topics = admin.list_topics(timeout=_ANSWER_WITHIN_S).topics  # a request for one topic would create it
    except confluent_kafka.KafkaException as error:
        raise ServerFailed(str(error)) from error
    topic = topics.get(places[0].stream)
    partitions = topic.partitions if topic is not None else {}
    found = [partitions.get(place.only_partition) for place in places]
    return [
        StreamState(each.leader, len(each.isrs)) if each is not None else StreamState(0, 0) for each in found
    ]
