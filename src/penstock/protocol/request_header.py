"""What stands in front of every request, read."""

import msgspec


class RequestHeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A null client id is read as an empty one, as Kafka does."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str = ""
