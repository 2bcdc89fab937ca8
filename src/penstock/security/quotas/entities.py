"""The quota that applies to a user and a client id.

A quota is set for an entity: a user, a client id, or both together, each by name or as the default of all that have
none of their own. The most specific one applies, and all connections that it applies to share it: a quota of a user is
shared by all of the user's clients, one of a user and a client id is not. The order is Kafka's.
"""

from collections.abc import Mapping

import msgspec

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

Entity = tuple[tuple[str, str | None], ...]
"""Types and names, sorted by type; a name of None is the default."""


class Share(msgspec.Struct, frozen=True):
    """A quota, and who shares it."""

    limit: float
    user: str | None
    client_id: str | None


def share_of(
    quotas: Mapping[Entity, Mapping[str, float]], key: str, user: str, client_id: str
) -> Share | None:
    """The quota `key` of this user and client; None without a limit."""
    for of_user, of_client in (
        (user, client_id),
        (user, None),
        (user, _ABSENT),
        (None, client_id),
        (None, None),
        (None, _ABSENT),
        (_ABSENT, client_id),
        (_ABSENT, None),
    ):
        limit = quotas.get(_entity(of_user, of_client), {}).get(key)
        if limit is not None:
            return Share(
                limit,
                None if of_user is _ABSENT else user,
                None if of_client is _ABSENT else client_id,
            )
    return None


_ABSENT = "\0absent"  # not a valid name of a user or a client


def _entity(user: str | None, client_id: str | None) -> Entity:
    parts = []
    if client_id != _ABSENT:
        parts.append((CLIENT_ID, client_id))
    if user != _ABSENT:
        parts.append((USER, user))
    return tuple(parts)
