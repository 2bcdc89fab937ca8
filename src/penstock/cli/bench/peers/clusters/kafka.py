"""Penstock and Apache Kafka as clusters: both are asked over Kafka's protocol which node leads a partition."""

import os
from collections.abc import Sequence
from typing import Final

import confluent_kafka
from confluent_kafka.admin import AdminClient

from penstock.cli.bench.peers.clusters import NODES, Led, Site
from penstock.cli.bench.peers.servers.kafka import KafkaNode, KafkaServer
from penstock.cli.bench.peers.servers.penstock import PenstockServer
from penstock.cli.bench.peers.servers.running import Helper, NotStarted, Running
from penstock.cli.bench.peers.tasks import Where

_ANSWER_WITHIN_S: Final = 10.0


class PenstockCluster(PenstockServer):
    """The first node is started alone, the others join it."""

    starts_together = False

    def prepare(self, site: Site) -> list[Helper]:  # noqa: ARG002 - nothing to prepare
        return []

    def start_node(self, site: Site, number: int) -> Running:
        arguments = ["--node-id", str(number)]
        directory = os.path.join(site.directory(number), "data")
        if number > 1 and not os.path.exists(directory):
            arguments += ["--join", site.address(1)]
        return self.start(directory, site.new_log_path(number), site.ports[number], arguments)

    def survey(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[Led]:
        return _survey(site, living, places)


class KafkaCluster(KafkaServer):
    """Nodes that are broker and controller, with a fixed set of voters."""

    starts_together = True

    def prepare(self, site: Site) -> list[Helper]:
        for number in NODES:
            _node(site, number).format_storage(site.new_log_path(number))
        return []

    def start_node(self, site: Site, number: int) -> Running:
        return _node(site, number).start(site.new_log_path(number))

    def survey(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[Led]:
        return _survey(site, living, places)


def _node(site: Site, number: int) -> KafkaNode:
    return KafkaNode(site.directory(number), number, site.ports[number], site.peer_ports)


def _survey(site: Site, living: Sequence[int], places: Sequence[Where]) -> list[Led]:
    """Places are partitions of one topic; a partition that the metadata does not name yet has no leader."""
    bootstrap = ",".join(site.address(number) for number in living)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        topics = admin.list_topics(timeout=_ANSWER_WITHIN_S).topics  # to ask for one topic would create it
    except confluent_kafka.KafkaException as error:
        raise NotStarted(str(error)) from error
    topic = topics.get(places[0].stream)
    partitions = topic.partitions if topic is not None else {}
    found = [partitions.get(place.only_partition) for place in places]
    return [Led(each.leader, len(each.isrs)) if each is not None else Led(0, 0) for each in found]
