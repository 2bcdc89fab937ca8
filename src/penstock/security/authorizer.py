"""The interface of authorizers, and the one of a broker without ACLs: `authorizer.class.name` is empty."""

from penstock.security.operations import Operation
from penstock.security.principal import Principal
from penstock.security.resources import ResourceType


class Authorizer:
    """Allows everything."""

    __slots__ = ()

    is_enforcing = False
    """Whether there are ACLs at all; if not, handlers need not check thousands of names."""

    def allows(
        self, who: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        """Whether `who`, connected from `host`, may do `operation` to the resource."""
        del who, host, operation, resource_type, name
        return True

    def allows_some(
        self, who: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether there is any resource of the type that they may do `operation` to."""
        del who, host, operation, resource_type
        return True
