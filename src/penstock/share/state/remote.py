"""What a share coordinator on another broker is asked, one share partition at a time."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from penstock.share.state.records import state_batches
from penstock.share.values import PersisterError, SharePartitionKey, ShareState, ShareSummary, StateBatch

R = TypeVar("R")

Call = Callable[[int, int, Any], Awaitable[Any]]
"""Sends a request, by API key and version, and gives the response. Raises `OSError` or `ProtocolError`."""


async def initialize(call: Call, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
    api = initialize_share_group_state
    partition = api.PartitionData(partition=key.partition, state_epoch=state_epoch, start_offset=start_offset)
    topic = api.InitializeStateData(topic_id=key.topic_id, partitions=[partition])
    request = api.InitializeShareGroupStateRequest(group_id=key.group_id, topics=[topic])
    response: api.InitializeShareGroupStateResponse = await call(api.API_KEY, api.VERSIONS[-1], request)
    _check(_only([each for topic in response.results for each in topic.partitions]))


async def read(call: Call, key: SharePartitionKey, leader_epoch: int) -> ShareState:
    api = read_share_group_state
    partition = api.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
    topic = api.ReadStateData(topic_id=key.topic_id, partitions=[partition])
    request = api.ReadShareGroupStateRequest(group_id=key.group_id, topics=[topic])
    response: api.ReadShareGroupStateResponse = await call(api.API_KEY, api.VERSIONS[-1], request)
    result = _only([each for topic in response.results for each in topic.partitions])
    _check(result)
    return ShareState(result.state_epoch, result.start_offset, tuple(state_batches(result.state_batches)))


async def write(
    call: Call,
    key: SharePartitionKey,
    *,
    state_epoch: int,
    leader_epoch: int,
    start_offset: int,
    delivery_complete_count: int,
    batches: Sequence[StateBatch],
) -> None:
    api = write_share_group_state
    partition = api.PartitionData(
        partition=key.partition,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=delivery_complete_count,
        state_batches=[
            api.StateBatch(
                first_offset=each.first_offset,
                last_offset=each.last_offset,
                delivery_state=each.state,
                delivery_count=each.delivery_count,
            )
            for each in batches
        ],
    )
    topic = api.WriteStateData(topic_id=key.topic_id, partitions=[partition])
    request = api.WriteShareGroupStateRequest(group_id=key.group_id, topics=[topic])
    response: api.WriteShareGroupStateResponse = await call(api.API_KEY, api.VERSIONS[-1], request)
    _check(_only([each for topic in response.results for each in topic.partitions]))


async def summary(call: Call, key: SharePartitionKey) -> ShareSummary:
    api = read_share_group_state_summary
    partition = api.PartitionData(partition=key.partition, leader_epoch=-1)
    topic = api.ReadStateSummaryData(topic_id=key.topic_id, partitions=[partition])
    request = api.ReadShareGroupStateSummaryRequest(group_id=key.group_id, topics=[topic])
    response: api.ReadShareGroupStateSummaryResponse = await call(api.API_KEY, api.VERSIONS[-1], request)
    result = _only([each for topic in response.results for each in topic.partitions])
    _check(result)
    return ShareSummary(
        result.state_epoch, result.leader_epoch, result.start_offset, result.delivery_complete_count
    )


async def delete(call: Call, key: SharePartitionKey) -> None:
    api = delete_share_group_state
    topic = api.DeleteStateData(
        topic_id=key.topic_id, partitions=[api.PartitionData(partition=key.partition)]
    )
    request = api.DeleteShareGroupStateRequest(group_id=key.group_id, topics=[topic])
    response: api.DeleteShareGroupStateResponse = await call(api.API_KEY, api.VERSIONS[-1], request)
    _check(_only([each for topic in response.results for each in topic.partitions]))


def _only(results: Sequence[R]) -> R:
    if len(results) != 1:
        raise ProtocolError(f"one share partition was asked about, and {len(results)} are answered")
    return results[0]


def _check(result: Any) -> None:
    if result.error_code:
        raise PersisterError(ErrorCode(result.error_code), result.error_message or "")
