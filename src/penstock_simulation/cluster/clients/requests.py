"""Requests that several clients send."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.clients.client import Address, Client, NoAnswer, check_error
from penstock_simulation.cluster.values import PartitionName

_LIST_OFFSETS, _OFFSET_FETCH, _DELETE_RECORDS, _ALTER_CONFIGS = (2, 7), (9, 8), (21, 2), (44, 1)
EARLIEST, LATEST = -2, -1
_SET, _DELETE = 0, 1
_TIMEOUT_MS = 3000


def by_topic(partitions: Sequence[PartitionName]) -> list[tuple[str, list[int]]]:
    return [
        (topic, [number for _, number in of_one])
        for topic, of_one in groupby(sorted(partitions), lambda each: each[0])
    ]


async def list_offset(
    client: Client,
    leader: Address,
    partition: PartitionName,
    timestamp: int,
    *,
    is_committed_only: bool = False,
) -> int:
    """Return the first or the next offset of a log. Raises `NoAnswer`."""
    topic, number = partition
    wanted = {"name": topic, "partitions": [{"partition_index": number, "timestamp": timestamp}]}
    response = await client.ask(
        leader, _LIST_OFFSETS, replica_id=-1, isolation_level=int(is_committed_only), topics=[wanted]
    )
    data = response.topics[0].partitions[0]
    check_error(data.error_code)
    offset: int = data.offset
    return offset


async def delete_records(client: Client, leader: Address, partition: PartitionName, offset: int) -> bool:
    """Delete all records before an offset, -1 for all committed ones; return whether. Raises `NoAnswer`."""
    topic, number = partition
    wanted = {"name": topic, "partitions": [{"partition_index": number, "offset": offset}]}
    response = await client.ask(leader, _DELETE_RECORDS, topics=[wanted], timeout_ms=_TIMEOUT_MS)
    return bool(response.topics[0].partitions[0].error_code == ErrorCode.NONE)


async def alter_configs(
    client: Client, kind: int, resource: str, settings: Mapping[str, str | None]
) -> ErrorCode:
    """Change settings of a resource; None restores a default. Raises `NoAnswer`."""
    configs = [
        {"name": name, "config_operation": _DELETE if value is None else _SET, "value": value}
        for name, value in settings.items()
    ]
    wanted = {"resource_type": kind, "resource_name": resource, "configs": configs}
    response = await client.ask_any(_ALTER_CONFIGS, resources=[wanted])
    return ErrorCode(response.responses[0].error_code)


async def fetch_offsets(
    client: Client,
    coordinator: Address,
    group: str,
    partitions: Sequence[PartitionName],
    *,
    member: tuple[str, int] | None = None,
) -> dict[PartitionName, int]:
    """Return a group's committed offsets, -1 for none, without offsets of open transactions. Raises `NoAnswer`.

    A `member` of the group asks with its id and epoch.
    """
    topics = [{"name": topic, "partition_indexes": numbers} for topic, numbers in by_topic(partitions)]
    wanted: dict[str, Any] = {"group_id": group, "topics": topics}
    key, version = _OFFSET_FETCH
    if member is not None:
        version += 1
        wanted |= {"member_id": member[0], "member_epoch": member[1]}
    response = await client.ask(coordinator, (key, version), groups=[wanted], require_stable=True)
    (found,) = response.groups
    codes = [found.error_code] + [each.error_code for topic in found.topics for each in topic.partitions]
    if any(codes):
        raise NoAnswer(", ".join(ErrorCode(each).name for each in codes if each))
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in found.topics
        for each in topic.partitions
    }
