"""All ACLs, arranged so that those that apply to one resource and one user are found without a search.

Entries stand by resource type, pattern, name and principal. A resource is looked up by its own name, by the wildcard,
and by as many of its beginnings as there are different lengths of prefixes: a check takes the same time with ten ACLs
and with ten thousand.
"""

import ipaddress
from collections import Counter
from collections.abc import Iterator

from penstock.security.acl import EVERYBODY, WILDCARD, AccessControlEntry, PermissionType
from penstock.security.operations import Operation
from penstock.security.resources import PatternType

# Only permissions imply others: to deny READ does not deny DESCRIBE.
_IMPLIED_BY = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}

_Entries = dict[AccessControlEntry, str]  # with the host as it is compared
_ByPrincipal = dict[str, _Entries]


class _Section:
    __slots__ = ("literal", "prefix_lengths", "prefixed")

    def __init__(self) -> None:
        self.literal: dict[str, _ByPrincipal] = {}
        self.prefixed: dict[str, _ByPrincipal] = {}
        self.prefix_lengths: Counter[int] = Counter()

    def named(self, name: str) -> Iterator[_ByPrincipal]:
        """The entries that match the resource with this name."""
        for key in (name, WILDCARD):
            found = self.literal.get(key)
            if found is not None:
                yield found
        for length in self.prefix_lengths:
            if length <= len(name):
                found = self.prefixed.get(name[:length])
                if found is not None:
                    yield found


class AclIndex:
    def __init__(self) -> None:
        self._sections: dict[int, _Section] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, entry: AccessControlEntry) -> None:
        section = self._sections.setdefault(entry.resource_type, _Section())
        is_prefix = entry.pattern_type == PatternType.PREFIXED
        names = section.prefixed if is_prefix else section.literal
        if is_prefix and entry.resource_name not in names:
            section.prefix_lengths[len(entry.resource_name)] += 1
        entries = names.setdefault(entry.resource_name, {}).setdefault(entry.principal, {})
        self._size += entry not in entries
        entries[entry] = comparable_host(entry.host)

    def remove(self, entry: AccessControlEntry) -> None:
        section = self._sections[entry.resource_type]
        is_prefix = entry.pattern_type == PatternType.PREFIXED
        names = section.prefixed if is_prefix else section.literal
        principals = names[entry.resource_name]
        del principals[entry.principal][entry]
        self._size -= 1
        if principals[entry.principal]:
            return
        del principals[entry.principal]
        if principals:
            return
        del names[entry.resource_name]
        if is_prefix:
            length = len(entry.resource_name)
            section.prefix_lengths[length] -= 1
            if not section.prefix_lengths[length]:
                del section.prefix_lengths[length]

    def verdict(
        self, principal: str, host: str, operation: Operation, resource_type: int, name: str
    ) -> bool | None:
        """Whether it is allowed; a denial takes precedence. None if the resource has no ACL."""
        section = self._sections.get(resource_type)
        if section is None:
            return None
        is_named = is_allowed = False
        for principals in section.named(name):
            is_named = True
            for entry in _of(principals, principal, host):
                if entry.permission_type == PermissionType.ALLOW:
                    is_allowed = is_allowed or _allows(entry, operation)
                elif entry.operation in (operation, Operation.ALL):
                    return False
        return is_allowed if is_named else None

    def allows_some(self, principal: str, host: str, operation: Operation, resource_type: int) -> bool:
        """Whether a resource may exist that is allowed and not denied (KIP-679)."""
        section = self._sections.get(resource_type)
        if section is None:
            return False
        literal = _permissions(section.literal, principal, host, operation)
        if literal.get(WILDCARD) is False:
            return False
        if literal.get(WILDCARD):
            return True
        prefixed = _permissions(section.prefixed, principal, host, operation)
        denied = {prefix for prefix, is_allowed in prefixed.items() if not is_allowed}
        for names in (literal, prefixed):
            for name, is_allowed in names.items():
                if is_allowed and not any(name[:end] in denied for end in range(1, len(name) + 1)):
                    return True
        return False


def _permissions(
    names: dict[str, _ByPrincipal], principal: str, host: str, operation: Operation
) -> dict[str, bool]:
    """By name, whether the operation itself is allowed (True) or denied (False)."""
    found: dict[str, bool] = {}
    for name, principals in names.items():
        for entry in _of(principals, principal, host):
            if entry.operation in (operation, Operation.ALL):
                is_allowed = entry.permission_type == PermissionType.ALLOW
                found[name] = is_allowed and found.get(name, True)
    return found


def _of(principals: _ByPrincipal, principal: str, host: str) -> Iterator[AccessControlEntry]:
    for who in (principal, EVERYBODY):
        for entry, entry_host in principals.get(who, {}).items():
            if entry_host in (WILDCARD, host):
                yield entry


def _allows(entry: AccessControlEntry, operation: Operation) -> bool:
    return entry.operation in (operation, Operation.ALL) or entry.operation in _IMPLIED_BY.get(operation, ())


def comparable_host(host: str) -> str:
    """An address in one form: IPv6 has several, and a socket for both families shows IPv4 as a part of it."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    return str(address.ipv4_mapped or address)
