"""Authorization by ACLs, as Kafka's StandardAuthorizer does it.

Super users may do anything. Otherwise a matching DENY wins, then a matching ALLOW. A resource without ACLs is closed,
or open with `allow.everyone.if.no.acl.found`. Decisions are cached until an ACL changes. Each new one is logged at
debug level.
"""

import logging
from collections.abc import Collection, Iterable, Mapping

from penstock.security.acl import AccessControlEntry
from penstock.security.acl_index import AclIndex, comparable_host
from penstock.security.authorizer import Authorizer
from penstock.security.operations import Operation
from penstock.security.principal import Principal
from penstock.security.resources import ResourceType

log = logging.getLogger(__name__)

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_CACHED_MAX = 10_000
_CACHED_NAME_MAX = 255  # longer names are invalid, and must not fill the cache

_CacheKey = tuple[Principal, str, Operation, ResourceType, str | None]


class AclAuthorizer(Authorizer):
    __slots__ = ("_cache", "_default", "_entries", "_index", "_super_users")

    is_enforcing = True

    def __init__(
        self, *, super_users: Collection[Principal] = (), allow_everyone_if_no_acl_found: bool = False
    ) -> None:
        self._super_users = frozenset(super_users)
        self._default = allow_everyone_if_no_acl_found
        self._entries: dict[bytes, AccessControlEntry] = {}
        self._index = AclIndex()
        self._cache: dict[_CacheKey, bool] = {}

    def follow(self, acls: Mapping[bytes, AccessControlEntry], changed: Iterable[bytes]) -> None:
        for acl_id in changed:
            old = self._entries.pop(acl_id, None)
            if old is not None:
                self._index.remove(old)
            new = acls.get(acl_id)
            if new is not None:
                self._entries[acl_id] = new
                self._index.add(new)
        self._cache.clear()

    def allows(
        self, who: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        if who in self._super_users:
            return True
        key = (who, host, operation, resource_type, name)
        known = self._cache.get(key)
        if known is not None:
            return known
        verdict = self._index.verdict(str(who), comparable_host(host), operation, resource_type, name)
        return self._store(key, self._default if verdict is None else verdict)

    def allows_some(
        self, who: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        # Like Kafka, first check a name that is not in use: the default or a wildcard may be enough.
        if self.allows(who, host, operation, resource_type, "hardcode"):
            return True
        key = (who, host, operation, resource_type, None)
        known = self._cache.get(key)
        if known is not None:
            return known
        is_allowed = self._index.allows_some(str(who), comparable_host(host), operation, resource_type)
        return self._store(key, is_allowed)

    def _store(self, key: _CacheKey, is_allowed: bool) -> bool:
        if len(self._cache) >= _CACHED_MAX:
            self._cache.clear()
        if len(key[-1] or "") <= _CACHED_NAME_MAX:
            self._cache[key] = is_allowed
        if log.isEnabledFor(logging.DEBUG):
            who, host, operation, resource_type, name = key
            log.debug(
                "%s an operation. principal=%s host=%s operation=%s resource=%s:%s",
                "Allowed" if is_allowed else "Denied",
                who,
                host,
                operation.name,
                resource_type.name,
                "*" if name is None else name,
            )
        return is_allowed


def parse_super_users(text: str) -> list[Principal]:
    """Parse `User:alice;User:bob`, as in `super.users`. Raises `ValueError` for an invalid principal."""
    found = []
    for each in filter(None, (part.strip() for part in text.split(";"))):
        kind, colon, name = each.partition(":")
        if not colon:
            raise ValueError(
                f"super.users has {each!r}: write each user as User:name, separated by semicolons"
            )
        found.append(Principal(name, kind))
    return found
