"""ACLs (principal, host, operation, resource, allow or deny), and filters of ACLs.

The numbers are the protocol's, as they stand in cluster metadata, so that an entry of a later version with an unknown
number is kept unchanged.
"""

import enum

import msgspec

from penstock.security.operations import Operation
from penstock.security.resources import PatternType, ResourceType

WILDCARD = "*"
"""Any host; as the name of a literal resource, any name."""
EVERYBODY = "User:*"


class PermissionType(enum.IntEnum):
    """Whether an ACL allows or denies; ANY only in filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class AccessControlEntry(msgspec.Struct, frozen=True, kw_only=True):
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


_ANYTHING = frozenset({None, 1})  # ANY is 1 among all of them
_RESOURCE_TYPES = frozenset(ResourceType) - {ResourceType.UNKNOWN}
_PATTERN_TYPES = frozenset(PatternType) - {PatternType.UNKNOWN}
_OPERATIONS = frozenset(Operation) - {Operation.UNKNOWN}
_PERMISSION_TYPES = frozenset(PermissionType) - {PermissionType.UNKNOWN}


class AclFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Finds ACLs; None and ANY match everything.

    A pattern type of MATCH finds every ACL that applies to the resource of that name: literal, wildcard and prefixed
    ones (KIP-290).
    """

    resource_type: int = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission_type: int = PermissionType.ANY

    @property
    def is_known(self) -> bool:
        """Whether its numbers mean something to this version."""
        return (
            self.resource_type in _RESOURCE_TYPES
            and self.pattern_type in _PATTERN_TYPES
            and self.operation in _OPERATIONS
            and self.permission_type in _PERMISSION_TYPES
        )

    def matches(self, entry: AccessControlEntry) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, entry.resource_type)
            and self._matches_name(entry)
            and self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (Operation.ANY, entry.operation)
            and self.permission_type in (PermissionType.ANY, entry.permission_type)
        )

    def _matches_name(self, entry: AccessControlEntry) -> bool:
        if self.pattern_type == PatternType.MATCH:
            if self.resource_name is None:
                return True
            if entry.pattern_type == PatternType.PREFIXED:
                return self.resource_name.startswith(entry.resource_name)
            return entry.resource_name in (self.resource_name, WILDCARD)
        return self.pattern_type in (PatternType.ANY, entry.pattern_type) and self.resource_name in (
            None,
            entry.resource_name,
        )

    def only_match(self) -> AccessControlEntry | None:
        """The one entry that this filter can find; None when it may find several."""
        wanted = msgspec.structs.asdict(self)
        if self.pattern_type == PatternType.MATCH or not _ANYTHING.isdisjoint(wanted.values()):
            return None
        return AccessControlEntry(**wanted)
