"""Asks a cluster who leads what and which API versions each broker supports, and tells it as messages."""

import asyncio
import datetime as dt
import json
from collections.abc import Iterator

from confluent_kafka.admin import AdminClient

from examples.messages import Message
from penstock.client.aio import Client
from penstock.protocol.apis import APIS
from penstock.protocol.messages.api_versions import ApiVersionsRequest

TOPICS = {"topology": 1, "topology_apis": 1}


def messages(bootstrap_servers: str, *, with_internal: bool = False) -> Iterator[Message]:
    """One message for each partition of each topic, and one for each API of each broker.

    Internal topics begin with two underscores, and are left out unless they are asked for.
    """
    at = dt.datetime.now(tz=dt.UTC).isoformat()
    cluster = AdminClient({"bootstrap.servers": bootstrap_servers}).list_topics(timeout=10)
    told = {"at": at, "cluster": cluster.cluster_id}
    for name, topic in sorted(cluster.topics.items()):
        if name.startswith("__") and not with_internal:
            continue
        for number, partition in sorted(topic.partitions.items()):
            value = {
                **told,
                "topic": name,
                "partition": number,
                "leader": partition.leader,
                "replicas": partition.replicas,
                "inSync": partition.isrs,
            }
            yield Message("topology", json.dumps(value).encode(), name.encode())
    for broker, versions in asyncio.run(api_versions(bootstrap_servers)).items():
        for api, (first, last) in versions.items():
            value = {**told, "broker": broker, "api": api, "first": first, "last": last}
            yield Message("topology_apis", json.dumps(value).encode(), str(broker).encode())


async def api_versions(bootstrap_servers: str) -> dict[int, dict[str, tuple[int, int]]]:
    """The first and last version of each API, by broker, as each one answers ApiVersions."""
    found: dict[int, dict[str, tuple[int, int]]] = {}
    async with Client(bootstrap_servers) as client:
        for broker in sorted((await client.metadata([])).brokers):
            request = ApiVersionsRequest(client_software_name="audit", client_software_version="1")
            answer = await client.request(broker, request)
            found[broker] = {
                APIS[api.api_key].name if api.api_key in APIS else str(api.api_key): (
                    api.min_version,
                    api.max_version,
                )
                for api in answer.api_keys
            }
    return found
