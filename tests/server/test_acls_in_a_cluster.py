"""ACLs hold on every broker, whichever of them is asked to change them."""

import asyncio
from typing import Any

from penstock.client.connection import Connection
from penstock.embedded.cluster import Cluster
from penstock.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from penstock.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.protocol.messages.delete_acls import DeleteAclsRequest
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.security.acl import PermissionType
from penstock.security.acl_authorizer import STANDARD_AUTHORIZER
from penstock.security.operations import Operation
from penstock.security.principal import Principal
from penstock.security.resources import PatternType, ResourceType
from tests.server.guarded import everything_about
from tests.server.live import api_of, code

# Brokers are ANONYMOUS to each other here, and allowed what no ACL is about.
SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
ALICE = Principal("alice")
ONLY_ALICE = CreateAclsRequest(
    creations=[
        AclCreation(
            resource_type=ResourceType.TOPIC,
            resource_name="ord",
            resource_pattern_type=PatternType.PREFIXED,
            principal=str(ALICE),
            host="*",
            operation=Operation.ALL,
            permission_type=PermissionType.ALLOW,
        )
    ]
)


async def send(connection: Connection, request: Any, version: int | None = None) -> Any:
    spec = api_of(type(request))
    return await connection.call(spec.key, spec.versions[-1] if version is None else version, request)


async def told_of_orders(connection: Connection) -> str:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    return code((await send(connection, request)).topics[0].error_code)


async def until_all_say(connections: list[Connection], expected: str) -> None:
    async with asyncio.timeout(30):
        while {await told_of_orders(each) for each in connections} != {expected}:
            await asyncio.sleep(0.005)


async def walk(cluster: Cluster) -> None:
    connections = {
        number: await Connection.open(node.host, node.port) for number, node in cluster.nodes.items()
    }
    everyone = list(connections.values())
    asked = next(each for number, each in connections.items() if number != cluster.controller)
    await until_all_say(everyone, "NONE")
    created = await send(asked, ONLY_ALICE)
    assert code(created.results[0].error_code) == "NONE"
    await until_all_say(everyone, "TOPIC_AUTHORIZATION_FAILED")
    another = CreatableTopic(name="orders-2", num_partitions=1, replication_factor=1)
    grown = await send(asked, CreateTopicsRequest(topics=[another], validate_only=True), 7)
    assert code(grown.topics[0].topic_config_error_code) == "TOPIC_AUTHORIZATION_FAILED"
    deleted = await send(asked, DeleteAclsRequest(filters=[everything_about(ALICE)]))
    assert len(deleted.filter_results[0].matching_acls) == 1
    await until_all_say(everyone, "NONE")
    for each in everyone:
        await each.close()


def test_acls_apply_on_every_broker_whichever_receives_the_change() -> None:
    with Cluster(3, topics={"orders": 1}, config=SETTINGS) as cluster:
        asyncio.run(walk(cluster))
