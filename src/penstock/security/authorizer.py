"""The interface of authorizers."""

from typing import Protocol

from penstock.security.operations import Operation
from penstock.security.principal import Principal
from penstock.security.resources import ResourceType


class Authorizer(Protocol):
    @property
    def is_enforcing(self) -> bool:
        """Whether there are ACLs at all; if not, handlers need not check thousands of names."""
        ...

    def allows(
        self, who: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        """Whether `who`, connected from `host`, may do `operation` to the resource."""
        ...

    def allows_some(
        self, who: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether there is any resource of the type that they may do `operation` to."""
        ...


class AllowAll:
    """A broker without ACLs: `authorizer.class.name` is empty."""

    __slots__ = ()

    is_enforcing = False

    def allows(
        self, who: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        del who, host, operation, resource_type, name
        return True

    def allows_some(
        self, who: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        del who, host, operation, resource_type
        return True
