"""One line of the table: a request, and all that somebody needs to have it served."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode
from penstock.security.operations import Operation
from penstock.security.resources import CLUSTER_NAME, ResourceType
from tests.server.guarded import Guarded
from tests.server.live import TopicHandle

TOPIC, GROUP, TRANSACTIONAL_ID = "guarded-topic", "guarded-group", "guarded-id"
DOOMED = "guarded-doomed"

TOPIC_REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_REFUSED = ErrorCode.GROUP_AUTHORIZATION_FAILED
CLUSTER_REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
ID_REFUSED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
REFUSALS = frozenset({TOPIC_REFUSED, GROUP_REFUSED, CLUSTER_REFUSED, ID_REFUSED})


class Need(msgspec.Struct, frozen=True):
    """A permission, and the error without it; None if the resource is omitted silently."""

    operation: Operation
    resource_type: ResourceType
    name: str
    refusal: ErrorCode | None


def topic(operation: Operation, name: str = TOPIC, refusal: ErrorCode | None = TOPIC_REFUSED) -> Need:
    return Need(operation, ResourceType.TOPIC, name, refusal)


def group(operation: Operation, refusal: ErrorCode | None = GROUP_REFUSED, name: str = GROUP) -> Need:
    return Need(operation, ResourceType.GROUP, name, refusal)


def transactional_id(operation: Operation, refusal: ErrorCode | None = ID_REFUSED) -> Need:
    return Need(operation, ResourceType.TRANSACTIONAL_ID, TRANSACTIONAL_ID, refusal)


def cluster(operation: Operation, refusal: ErrorCode | None = CLUSTER_REFUSED) -> Need:
    return Need(operation, ResourceType.CLUSTER, CLUSTER_NAME, refusal)


class Place:
    """The broker that is asked, and the topics that requests name by id."""

    def __init__(self, guarded: Guarded, known: TopicHandle) -> None:
        self.guarded = guarded
        self.topic = known
        self.doomed = known


Fields = Mapping[str, Any] | msgspec.Struct
"""The fields of the request, or the request itself."""


class Row(msgspec.Struct, frozen=True):
    """`shows` finds in an answer what a silent refusal leaves out."""

    key: int
    note: str
    needs: tuple[Need, ...]
    fields: Fields | Callable[[Place], Fields]
    version: int | None
    shows: Callable[[Any], object] | None
    before: Callable[[Place], Awaitable[None]] | None
    is_for_brokers: bool = False
    """Then permissions have nothing to do with it."""

    def request(self, place: Place) -> Any:
        codec: Any = apis.codec(self.key)
        request_type = getattr(codec, f"{apis.APIS[self.key].name}Request")
        fields = self.fields(place) if callable(self.fields) else self.fields
        if isinstance(fields, msgspec.Struct):
            return fields
        return msgspec.convert(fields, request_type)

    def __str__(self) -> str:
        return f"{apis.APIS[self.key].name}{f' {self.note}' if self.note else ''}"


def row(
    key: int,
    note: str,
    *needs: Need,
    fields: Fields | Callable[[Place], Fields] | None = None,
    version: int | None = None,
    shows: Callable[[Any], object] | None = None,
    before: Callable[[Place], Awaitable[None]] | None = None,
) -> Row:
    return Row(key, note, needs, fields or {}, version, shows, before)


def broker_row(
    key: int, note: str, *, fields: Fields | Callable[[Place], Fields], version: int | None = None
) -> Row:
    """Requests that only brokers of the cluster may send."""
    return Row(key, note, (), fields, version, None, None, is_for_brokers=True)


def refusals(answer: Any) -> set[ErrorCode]:
    """Every error code in the response, at any depth, that denies access."""
    if isinstance(answer, msgspec.Struct):
        found = set()
        for name in answer.__struct_fields__:
            value = getattr(answer, name)
            if name.endswith("error_code"):
                found |= {ErrorCode(value)} & REFUSALS
            else:
                found |= refusals(value)
        return found
    if isinstance(answer, list):
        return {code for each in answer for code in refusals(each)}
    return set()
