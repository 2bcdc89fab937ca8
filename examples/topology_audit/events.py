"""Asks a cluster who leads what, and tells it as messages."""

import datetime as dt
import json
from collections.abc import Iterator

from confluent_kafka.admin import AdminClient

from examples.messages import Message

TOPICS = {"topology": 1}


def messages(bootstrap_servers: str) -> Iterator[Message]:
    """One message for each partition of each topic."""
    at = dt.datetime.now(tz=dt.UTC).isoformat()
    cluster = AdminClient({"bootstrap.servers": bootstrap_servers}).list_topics(timeout=10)
    for name, topic in sorted(cluster.topics.items()):
        for number, partition in sorted(topic.partitions.items()):
            value = {
                "at": at,
                "cluster": cluster.cluster_id,
                "topic": name,
                "partition": number,
                "leader": partition.leader,
                "replicas": partition.replicas,
                "inSync": partition.isrs,
            }
            yield Message("topology", json.dumps(value).encode(), name.encode())
