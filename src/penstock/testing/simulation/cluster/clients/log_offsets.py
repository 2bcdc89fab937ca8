"""Where a partition starts and ends, as its leader says, and the deletion of what lies before an offset."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import delete_records, list_offsets
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import Client, NoAnswer

_LIST_OFFSETS, _DELETE_RECORDS = (2, 7), (21, 2)
EARLIEST, LATEST = -2, -1
_WAIT_MS = 2000


async def find_offset(
    client: Client, partition: PartitionName, which: int, *, is_committed_only: bool = False
) -> int:
    """The first or the next offset of a partition. Raises `NoAnswer`."""
    wanted = list_offsets.ListOffsetsPartition(partition_index=partition[1], timestamp=which)
    request = list_offsets.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(is_committed_only),
        topics=[list_offsets.ListOffsetsTopic(name=partition[0], partitions=[wanted])],
    )
    answer = await client.call(await client.leader_of(partition), _LIST_OFFSETS, request)
    found = answer.topics[0].partitions[0]
    if found.error_code != ErrorCode.NONE:
        raise NoAnswer(ErrorCode(found.error_code).name)
    offset: int = found.offset
    return offset


async def delete_before(client: Client, partition: PartitionName, offset: int) -> bool:
    """Delete all records before an offset, -1 for all that are committed; whether it was done. Raises `NoAnswer`."""
    wanted = delete_records.DeleteRecordsPartition(partition_index=partition[1], offset=offset)
    request = delete_records.DeleteRecordsRequest(
        topics=[delete_records.DeleteRecordsTopic(name=partition[0], partitions=[wanted])],
        timeout_ms=_WAIT_MS,
    )
    answer = await client.call(await client.leader_of(partition), _DELETE_RECORDS, request)
    return bool(answer.topics[0].partitions[0].error_code == ErrorCode.NONE)
