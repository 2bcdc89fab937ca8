"""Requests to a share coordinator on another broker, for one share partition at a time."""

from collections.abc import Awaitable, Callable
from typing import Any

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

Call = Callable[[int, int, Any], Awaitable[Any]]
"""Sends a request, by API key and version, and returns the response. Raises `OSError` or `ProtocolError`."""


async def initialize(call: Call, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
    api = initialize_share_group_state
    partition = api.PartitionData(partition=key.partition, state_epoch=state_epoch, start_offset=start_offset)
    topic = api.InitializeStateData(topic_id=key.topic_id, partitions=[partition])
    await _send(call, api, api.InitializeShareGroupStateRequest(group_id=key.group_id, topics=[topic]))


async def read(call: Call, key: SharePartitionKey, leader_epoch: int) -> ShareState:
    api = read_share_group_state
    partition = api.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
    topic = api.ReadStateData(topic_id=key.topic_id, partitions=[partition])
    result = await _send(call, api, api.ReadShareGroupStateRequest(group_id=key.group_id, topics=[topic]))
    return ShareState(result.state_epoch, result.start_offset, tuple(state_batches(result.state_batches)))


async def write(call: Call, key: SharePartitionKey, update: StateUpdate) -> None:
    api = write_share_group_state
    partition = api.PartitionData(
        partition=key.partition,
        state_epoch=update.state_epoch,
        leader_epoch=update.leader_epoch,
        start_offset=update.start_offset,
        delivery_complete_count=update.delivery_complete_count,
        state_batches=[each.to_message(api.StateBatch) for each in update.batches],
    )
    topic = api.WriteStateData(topic_id=key.topic_id, partitions=[partition])
    await _send(call, api, api.WriteShareGroupStateRequest(group_id=key.group_id, topics=[topic]))


async def summary(call: Call, key: SharePartitionKey) -> ShareSummary:
    api = read_share_group_state_summary
    partition = api.PartitionData(partition=key.partition, leader_epoch=-1)
    topic = api.ReadStateSummaryData(topic_id=key.topic_id, partitions=[partition])
    result = await _send(
        call, api, api.ReadShareGroupStateSummaryRequest(group_id=key.group_id, topics=[topic])
    )
    return ShareSummary(
        result.state_epoch, result.leader_epoch, result.start_offset, result.delivery_complete_count
    )


async def delete(call: Call, key: SharePartitionKey) -> None:
    api = delete_share_group_state
    partition = api.PartitionData(partition=key.partition)
    topic = api.DeleteStateData(topic_id=key.topic_id, partitions=[partition])
    await _send(call, api, api.DeleteShareGroupStateRequest(group_id=key.group_id, topics=[topic]))


async def _send(call: Call, api: Any, request: Any) -> Any:
    """Return the result of the only partition of the request."""
    response = await call(api.API_KEY, api.VERSIONS[-1], request)
    results = [each for topic in response.results for each in topic.partitions]
    if len(results) != 1:
        raise ProtocolError(f"the response has {len(results)} share partitions instead of 1")
    if results[0].error_code:
        raise PersisterError(ErrorCode(results[0].error_code), results[0].error_message or "")
    return results[0]
