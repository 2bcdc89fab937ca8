"""A short constructor of ACLs."""

from penstock.security.acl import AccessControlEntry, PermissionType
from penstock.security.operations import Operation
from penstock.security.resources import PatternType, ResourceType


def acl(
    principal: str,
    operation: Operation,
    name: str = "orders",
    *,
    resource_type: ResourceType = ResourceType.TOPIC,
    pattern_type: PatternType = PatternType.LITERAL,
    permission: PermissionType = PermissionType.ALLOW,
    host: str = "*",
) -> AccessControlEntry:
    """`principal` without its type is a user."""
    return AccessControlEntry(
        resource_type=resource_type,
        resource_name=name,
        pattern_type=pattern_type,
        principal=principal if ":" in principal else f"User:{principal}",
        host=host,
        operation=operation,
        permission_type=permission,
    )
