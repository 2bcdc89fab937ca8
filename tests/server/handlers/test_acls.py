"""CreateAcls, DescribeAcls and DeleteAcls, and their effect on open connections."""

from pathlib import Path

import pytest

from penstock.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from penstock.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from penstock.protocol.messages.describe_acls import DescribeAclsRequest
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.security.acl import PermissionType
from penstock.security.operations import Operation
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.resources import PatternType, ResourceType
from penstock.server.broker import StartFailed
from tests.security.acl_support import acl
from tests.server.guarded import SETTINGS, Guarded, everything_about, guarded_broker
from tests.server.live import Live, batch, code, running_broker, versions

ALICE = Principal("alice")


def describe(who: Principal) -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=str(who),
        host_filter=None,
        operation=Operation.ANY,
        permission_type=PermissionType.ANY,
    )


@pytest.mark.parametrize("version", versions(CreateAclsRequest))
async def test_acls_are_created_described_by_resource_and_deleted_by_filter(
    guarded: Guarded, version: int
) -> None:
    bob = Principal("bob")
    request = CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=ResourceType.TOPIC,
                resource_name="orders",
                resource_pattern_type=PatternType.PREFIXED,
                principal=str(bob),
                host="*",
                operation=operation,
                permission_type=PermissionType.ALLOW,
            )
            for operation in (Operation.READ, Operation.WRITE, Operation.ANY)
        ]
    )
    created = await guarded.admin.send(request, version)
    assert [code(r.error_code) for r in created.results] == ["NONE", "NONE", "INVALID_REQUEST"]
    assert created.results[2].error_message == "Invalid operation ANY"
    described = await guarded.admin.send(describe(bob), version)
    (resource,) = described.resources
    assert (resource.resource_name, resource.pattern_type) == ("orders", PatternType.PREFIXED)
    assert {each.operation for each in resource.acls} == {Operation.READ, Operation.WRITE}
    deleted = await guarded.admin.send(DeleteAclsRequest(filters=[everything_about(bob)]), version)
    assert len(deleted.filter_results[0].matching_acls) == 2
    assert (await guarded.admin.send(describe(bob), version)).resources == []


async def test_filters_with_unknown_codes_are_invalid(guarded: Guarded) -> None:
    described = await guarded.admin.send(DescribeAclsRequest(operation=Operation.UNKNOWN))
    assert code(described.error_code) == "INVALID_REQUEST"
    deleted = await guarded.admin.send(DeleteAclsRequest(filters=[DeleteAclsFilter(operation=77)]))
    assert code(deleted.filter_results[0].error_code) == "INVALID_REQUEST"


async def test_without_an_authorizer_acls_are_refused(live: Live) -> None:
    client = await live.connect()
    created = await client.send(CreateAclsRequest(creations=[AclCreation()]))
    assert code(created.results[0].error_code) == "SECURITY_DISABLED"
    assert "authorizer.class.name" in created.results[0].error_message
    assert code((await client.send(describe(ALICE))).error_code) == "SECURITY_DISABLED"
    deleted = await client.send(DeleteAclsRequest(filters=[everything_about(ALICE)]))
    assert code(deleted.filter_results[0].error_code) == "SECURITY_DISABLED"
    await client.close()


async def test_an_acl_applies_to_open_connections_from_its_creation_until_its_deletion(
    guarded: Guarded,
) -> None:
    """Over a real socket, as the principal of a client without a login: ANONYMOUS."""
    client = await guarded.live.connect()
    await guarded.allow(acl("ANONYMOUS", Operation.CREATE, "live"))
    topic = await client.create_topic(name="live")

    async def outcomes() -> list[str]:
        produced = await client.produce(topic, batch(b"v"))
        fetched = await client.fetch(topic)
        metadata = await client.send(MetadataRequest(topics=[MetadataRequestTopic(name="live")]))
        return [code(each.error_code) for each in (produced, fetched, metadata.topics[0])]

    assert await outcomes() == ["TOPIC_AUTHORIZATION_FAILED"] * 3
    await guarded.allow(acl("ANONYMOUS", Operation.WRITE, "live"))
    assert await outcomes() == ["NONE", "TOPIC_AUTHORIZATION_FAILED", "NONE"]
    await guarded.allow(acl("ANONYMOUS", Operation.READ, "li", pattern_type=PatternType.PREFIXED))
    assert await outcomes() == ["NONE", "NONE", "NONE"]
    await guarded.forget(ANONYMOUS)
    assert await outcomes() == ["TOPIC_AUTHORIZATION_FAILED"] * 3
    await client.close()


async def test_acls_survive_a_restart(tmp_path: Path) -> None:
    async with guarded_broker(tmp_path) as guarded:
        await guarded.allow(
            acl("alice", Operation.DESCRIBE, "kafka-cluster", resource_type=ResourceType.CLUSTER)
        )
    async with guarded_broker(tmp_path) as guarded:
        assert len((await guarded.caller(ALICE).send(describe(ALICE))).resources) == 1
        assert code((await guarded.caller(Principal("bob")).send(describe(ALICE))).error_code) == (
            "CLUSTER_AUTHORIZATION_FAILED"
        )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"authorizer.class.name": "com.example.Mine"},
            "authorizer.class.name=com.example.Mine is not known",
        ),
        ({"super.users": "alice"}, "super.users has 'alice': write each user as User:name"),
    ],
)
async def test_a_broker_does_not_start_with_an_unknown_authorizer(
    tmp_path: Path, settings: dict[str, str], reason: str
) -> None:
    with pytest.raises(StartFailed, match=reason):
        async with running_broker(tmp_path, SETTINGS | settings):
            pass
