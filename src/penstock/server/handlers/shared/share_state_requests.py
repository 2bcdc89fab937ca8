"""The common part of the five requests about the state of share partitions (keys 83-87).

They are for brokers (`broker_apis`). Each names share partitions of one group. The coordinator decides about every one
in connection order; the response waits for the log.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.share.state.values import PersisterError, SharePartitionKey

T = TypeVar("T")
R = TypeVar("R")

_Begun = list[tuple[int, Awaitable[T] | PersisterError]]


def _no_fields(_result: object) -> dict[str, Any]:
    return {}


def respond(
    request: Any,
    begin: Callable[[SharePartitionKey, Any], Awaitable[T]],
    response_type: type[R],
    fields_of: Callable[[T], dict[str, Any]] = _no_fields,
) -> Awaitable[R]:
    """Begin for every share partition of the request; the awaitable returns the response.

    A request without a group, or with a topic without partitions, asks for nothing.
    """

    def begin_one(topic_id: bytes, wanted: Any) -> Awaitable[T] | PersisterError:
        try:
            return begin(SharePartitionKey(request.group_id, topic_id, wanted.partition), wanted)
        except PersisterError as error:
            return error
        except ProtocolError as error:
            return PersisterError(ErrorCode.INVALID_REQUEST, str(error))

    async def result_of(partition: int, begun: Awaitable[T] | PersisterError) -> dict[str, Any]:
        try:
            if isinstance(begun, PersisterError):
                raise begun
            fields = fields_of(await begun)
        except PersisterError as error:
            fields = {"error_code": error.code, "error_message": str(error)}
        return {"partition": partition, **fields}

    async def respond_when_done(topics: list[tuple[bytes, _Begun[T]]]) -> R:
        results = [
            {"topic_id": topic_id, "partitions": [await result_of(*each) for each in partitions]}
            for topic_id, partitions in topics
        ]
        return msgspec.convert({"results": results}, response_type)

    is_complete = bool(request.group_id) and all(topic.partitions for topic in request.topics)
    return respond_when_done(
        [
            (topic.topic_id, [(each.partition, begin_one(topic.topic_id, each)) for each in topic.partitions])
            for topic in (request.topics if is_complete else ())
        ]
    )
