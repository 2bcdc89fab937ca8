"""Requests to a share coordinator on another broker, for one share partition at a time."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from penstock.share.state.records import state_batches
from penstock.share.state.values import (
    PersisterError,
    SharePartitionKey,
    ShareState,
    ShareSummary,
    StateUpdate,
)


class RemoteShareCoordinator:
    """Has the requests of `ShareStateCoordinator`. Each raises `OSError` or `ProtocolError` too."""

    def __init__(self, call: Callable[[int, int, Any], Awaitable[Any]]) -> None:
        """`call` sends a request, by API key and version, and returns the response."""
        self._call = call

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        api = initialize_share_group_state
        request = api.InitializeShareGroupStateRequest
        await self._send(api, request, key, state_epoch=state_epoch, start_offset=start_offset)

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        api = read_share_group_state
        result = await self._send(api, api.ReadShareGroupStateRequest, key, leader_epoch=leader_epoch)
        return ShareState(result.state_epoch, result.start_offset, tuple(state_batches(result.state_batches)))

    async def write(self, key: SharePartitionKey, update: StateUpdate) -> None:
        api = write_share_group_state
        fields = update._asdict()
        fields["state_batches"] = [each.to_message(api.StateBatch) for each in fields.pop("batches")]
        await self._send(api, api.WriteShareGroupStateRequest, key, **fields)

    async def summary(self, key: SharePartitionKey) -> ShareSummary:
        api = read_share_group_state_summary
        result = await self._send(api, api.ReadShareGroupStateSummaryRequest, key, leader_epoch=-1)
        return ShareSummary(*(getattr(result, name) for name in ShareSummary._fields))

    async def delete(self, key: SharePartitionKey) -> None:
        api = delete_share_group_state
        await self._send(api, api.DeleteShareGroupStateRequest, key)

    async def _send(self, api: Any, request_type: type[Any], key: SharePartitionKey, **fields: Any) -> Any:
        """Send a request about one share partition, and return its result."""
        topic = {"topic_id": key.topic_id, "partitions": [{"partition": key.partition, **fields}]}
        request = msgspec.convert({"group_id": key.group_id, "topics": [topic]}, request_type)
        response = await self._call(api.API_KEY, api.VERSIONS[-1], request)
        results = [each for topic in response.results for each in topic.partitions]
        if len(results) != 1:
            raise ProtocolError(f"the response has {len(results)} share partitions instead of 1")
        if results[0].error_code:
            raise PersisterError(ErrorCode(results[0].error_code), results[0].error_message or "")
        return results[0]
