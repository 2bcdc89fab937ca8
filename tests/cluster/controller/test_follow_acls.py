import random

from penstock.cluster.controller.follow_acls import decide_follow_acls
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import MIRRORED_ACLS
from penstock.protocol.messages.metadata_records import AccessControlEntryRecord
from penstock.security.acl import AccessControlEntry, PermissionType
from penstock.security.operations import Operation
from penstock.security.resources import CLUSTER_NAME, PatternType, ResourceType
from tests.cluster.controller.mirror_stage import follow, image_with_mirror, there
from tests.cluster.support import commit


def entry(user: str, kind: ResourceType = ResourceType.TOPIC, name: str = "orders") -> AccessControlEntry:
    return AccessControlEntry(
        resource_type=kind,
        resource_name=name,
        pattern_type=PatternType.LITERAL,
        principal=f"User:{user}",
        host="*",
        operation=Operation.READ if kind is not ResourceType.CLUSTER else Operation.DESCRIBE,
        permission_type=PermissionType.ALLOW,
    )


def decide(image: MetadataImage, *there: AccessControlEntry) -> int:
    records, count = decide_follow_acls(image, random.Random(1), "m", there)
    commit(image, records)
    return count


def users(image: MetadataImage) -> list[str]:
    return sorted(each.principal.removeprefix("User:") for each in image.acls.values())


def test_acls_are_created_once_and_deleted_when_the_source_has_them_no_more() -> None:
    image = image_with_mirror()
    follow(image, there())
    assert decide(image, entry("alice"), entry("bob")) == 4
    assert decide(image, entry("alice"), entry("bob")) == 0
    assert users(image) == ["alice", "bob"]
    decide(image, entry("bob"))
    assert users(image) == ["bob"]
    decide(image)
    assert users(image) == []
    assert (MIRRORED_ACLS, "m") not in image.configs


def test_an_acl_that_was_created_here_is_never_deleted() -> None:
    image = image_with_mirror()
    follow(image, there())
    own = AccessControlEntryRecord(
        id=bytes(16),
        resource_type=ResourceType.TOPIC,
        resource_name="orders",
        pattern_type=PatternType.LITERAL,
        principal="User:alice",
        host="*",
        operation=Operation.READ,
        permission_type=PermissionType.ALLOW,
    )
    commit(image, [own])
    decide(image, entry("alice"))
    decide(image)
    assert users(image) == ["alice"]


def test_acls_about_the_cluster_itself_stay_at_the_source() -> None:
    image = image_with_mirror()
    follow(image, there())
    decide(
        image,
        entry("alice", ResourceType.GROUP, "billing"),
        entry("bob", ResourceType.CLUSTER, CLUSTER_NAME),
    )
    assert users(image) == ["alice"]


def test_nothing_follows_before_the_source_is_checked() -> None:
    image = image_with_mirror()
    assert decide(image, entry("alice")) == 0
