"""DescribeClientQuotas (key 48), v0-v1: the quotas of all entities that match a filter (KIP-546).

A filter names types of entities: by their exact name, as the default, or with any name. A strict filter matches only
entities that have no other type.
"""

from collections.abc import Mapping, Sequence

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_client_quotas as api
from penstock.security.operations import Operation
from penstock.security.quotas.entities import CLIENT_ID, IP, USER, Entity
from penstock.server.context import RequestContext

VERSIONS = range(2)

_EXACT, _DEFAULT, _ANY_NAME = 0, 1, 2


class _Invalid(Exception):
    def __init__(self, message: str, code: ErrorCode = ErrorCode.INVALID_REQUEST) -> None:
        super().__init__(message)
        self.code = code


class _Filter(msgspec.Struct, frozen=True, kw_only=True):
    names: Mapping[str, str | None]
    """Exact names by type; None is the default."""
    any_name: frozenset[str]
    is_strict: bool

    def takes(self, entity: Entity) -> bool:
        parts = dict(entity)
        if self.is_strict and len(parts) != len(self.names) + len(self.any_name):
            return False
        return all(kind in parts and parts[kind] == name for kind, name in self.names.items()) and all(
            kind in parts for kind in self.any_name
        )


def handle(ctx: RequestContext, request: api.DescribeClientQuotasRequest) -> api.DescribeClientQuotasResponse:
    if not ctx.may_in_cluster(Operation.DESCRIBE_CONFIGS):
        return _failed(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    try:
        wanted = _filter(request.components, is_strict=request.strict)
    except _Invalid as error:
        return _failed(error.code, str(error))
    entries = [
        api.EntryData(
            entity=[api.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[api.ValueData(key=key, value=value) for key, value in values.items()],
        )
        for entity, values in ctx.broker.controller.image.quotas.items()
        if wanted.takes(entity)
    ]
    return api.DescribeClientQuotasResponse(error_message=None, entries=entries)


def _failed(code: ErrorCode, message: str) -> api.DescribeClientQuotasResponse:
    return api.DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


def _filter(components: Sequence[api.ComponentData], *, is_strict: bool) -> _Filter:
    names: dict[str, str | None] = {}
    any_name: set[str] = set()
    for component in components:
        kind = component.entity_type
        if not kind:
            raise _Invalid("Invalid empty entity type.")
        if kind in names or kind in any_name:
            raise _Invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise _Invalid(f"Unsupported entity type {kind}", ErrorCode.UNSUPPORTED_VERSION)
        _check_match(component)
        if component.match_type == _ANY_NAME:
            any_name.add(kind)
        else:
            names[kind] = component.match
    if IP in (kinds := names.keys() | any_name) and len(kinds) > 1:
        raise _Invalid("IP filter component should not be used with user or clientId filter component.")
    return _Filter(names=names, any_name=frozenset(any_name), is_strict=is_strict)


def _check_match(component: api.ComponentData) -> None:
    if component.match_type not in (_EXACT, _DEFAULT, _ANY_NAME):
        raise _Invalid(f"Unknown match type {component.match_type}")
    if component.match_type == _EXACT and component.match is None:
        raise _Invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if component.match_type != _EXACT and component.match is not None:
        raise _Invalid("Request specified a match type without a name, but also specified a match string.")
