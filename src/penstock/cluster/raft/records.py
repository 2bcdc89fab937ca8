"""The quorum's own records in the log: leaders and voters. All are control batches (KIP-595, KIP-853).

LeaderChange opens every epoch. KRaftVersion and KRaftVoters open the log of a new quorum, and a further KRaftVoters
records each change of the voters. Their values are Kafka's flexible messages; see `protocol.records.control`.
"""

from collections.abc import Iterable, Iterator, Sequence

from penstock.cluster.raft.errors import RaftFault
from penstock.cluster.raft.values import Address, ReplicaKey
from penstock.cluster.raft.voters import Voter, VoterSet
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import (
    kraft_version_record,
    leader_change_message,
    voters_record,
)
from penstock.protocol.records.batch import (
    BatchHeader,
    crc_is_valid,
    iter_batches,
    iter_batches_strict,
    set_base_offset_and_epoch,
)
from penstock.protocol.records.control import ControlType, build_control_batch, control_type
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import iter_records
from penstock.protocol.wire import Buffer

_LEADER_CHANGE_VERSION = 0  # without directory ids: the only version that Kafka writes and its tools read
_KRAFT_VERSION = 1  # the voters are in the log


def leader_change_batch(
    leader_id: int, voters: VoterSet, granted: Iterable[int], *, offset: int, epoch: int, timestamp: int
) -> bytes:
    message = leader_change_message.LeaderChangeMessage(
        version=_LEADER_CHANGE_VERSION,
        leader_id=leader_id,
        voters=[_changed(voter.key) for voter in voters],
        granting_voters=[
            _changed(voter.key) for each in sorted(granted) if (voter := voters.get(each)) is not None
        ],
    )
    value = leader_change_message.encode(message, _LEADER_CHANGE_VERSION)
    return build_control_batch(
        ControlType.LEADER_CHANGE, value, timestamp=timestamp, base_offset=offset, leader_epoch=epoch
    )


def _changed(key: ReplicaKey) -> leader_change_message.Voter:
    return leader_change_message.Voter(voter_id=key.node_id)


def kraft_version_batch(*, offset: int, epoch: int, timestamp: int) -> bytes:
    value = kraft_version_record.encode(
        kraft_version_record.KRaftVersionRecord(version=0, kraft_version=_KRAFT_VERSION), 0
    )
    return build_control_batch(
        ControlType.KRAFT_VERSION, value, timestamp=timestamp, base_offset=offset, leader_epoch=epoch
    )


def voters_batch(voters: VoterSet, *, offset: int, epoch: int, timestamp: int) -> bytes:
    value = voters_record.encode(
        voters_record.VotersRecord(
            version=0,
            voters=[
                voters_record.Voter(
                    voter_id=voter.key.node_id,
                    voter_directory_id=voter.key.directory_id,
                    endpoints=[
                        voters_record.Endpoint(name=each.name, host=each.host, port=each.port)
                        for each in voter.endpoints
                    ],
                    kraft_version_feature=voters_record.KRaftVersionFeature(
                        min_supported_version=voter.versions[0], max_supported_version=voter.versions[1]
                    ),
                )
                for voter in voters
            ],
        ),
        0,
    )
    return build_control_batch(
        ControlType.KRAFT_VOTERS, value, timestamp=timestamp, base_offset=offset, leader_epoch=epoch
    )


def voter_sets_in(buffer: Buffer, pos: int, header: BatchHeader) -> Iterator[tuple[int, VoterSet]]:
    """The voter sets in one batch, with the offsets of their records."""
    if not header.is_control:
        return
    try:
        for record in iter_records(buffer, pos=pos):
            if control_type(record.key) is ControlType.KRAFT_VOTERS:
                yield record.offset, _decode_voters(record.value or b"")
    except ProtocolError as error:
        raise RaftFault(f"a control record at offset {header.base_offset} cannot be read: {error}") from error


def leader_in(buffer: Buffer, pos: int, header: BatchHeader) -> int | None:
    """The node that a LeaderChange record names as leader; None for any other batch."""
    change = _leader_change_in(buffer, pos, header)
    return None if change is None else change.leader_id


def voter_ids_in(buffer: Buffer, pos: int, header: BatchHeader) -> tuple[int, ...] | None:
    """The voters that a LeaderChange record names; None for any other batch."""
    change = _leader_change_in(buffer, pos, header)
    return None if change is None else tuple(each.voter_id for each in change.voters)


def _leader_change_in(
    buffer: Buffer, pos: int, header: BatchHeader
) -> leader_change_message.LeaderChangeMessage | None:
    if header.is_control:
        for record in iter_records(buffer, pos=pos):
            if control_type(record.key) is ControlType.LEADER_CHANGE:
                return leader_change_message.decode(record.value or b"", _LEADER_CHANGE_VERSION)
    return None


def _decode_voters(value: bytes) -> VoterSet:
    decoded = voters_record.decode(value, 0)
    return VoterSet(
        Voter(
            key=ReplicaKey(each.voter_id, each.voter_directory_id),
            endpoints=tuple(Address(at.name, at.host, at.port) for at in each.endpoints),
            versions=(
                each.kraft_version_feature.min_supported_version,
                each.kraft_version_feature.max_supported_version,
            ),
        )
        for each in decoded.voters
    )


def number_batches(batches: bytes, *, offset: int, epoch: int) -> tuple[bytearray, int]:
    """Assign offsets and the epoch to the batches of one append; returns them and the next offset."""
    numbered = bytearray(batches)
    for pos, header in iter_batches_strict(batches):
        set_base_offset_and_epoch(numbered, pos, offset, epoch)
        offset += header.last_offset_delta + 1
    return numbered, offset


def whole_batches(fetched: bytes, *, offset: int, epoch_max: int) -> Sequence[tuple[int, BatchHeader]]:
    """The batches in a leader's answer, checked: intact, contiguous from `offset` on, of ascending epochs.

    A partial batch at the end is left out. Raises `RaftFault`.
    """
    found = []
    epoch = 0
    try:
        for pos, header in iter_batches(fetched):
            if not crc_is_valid(fetched, pos, header.size_bytes):
                raise RaftFault(f"the fetched batch at offset {header.base_offset} does not match its CRC")
            if header.base_offset != offset or not epoch <= header.leader_epoch <= epoch_max:
                raise RaftFault(
                    f"a fetched batch begins at offset {header.base_offset} in epoch {header.leader_epoch}, "
                    f"where offset {offset} and an epoch from {epoch} to {epoch_max} belong"
                )
            offset, epoch = header.next_offset, header.leader_epoch
            found.append((pos, header))
    except CorruptRecords as error:
        raise RaftFault(f"fetched records cannot be read: {error}") from error
    return found
