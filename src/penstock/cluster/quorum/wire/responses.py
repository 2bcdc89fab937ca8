"""Answers of the quorum as Kafka's messages, and back."""

from typing import Any, Final

from penstock.cluster.metadata.topic_names import CLUSTER_METADATA, METADATA_TOPIC_ID
from penstock.cluster.quorum.wire.apis import NotTheQuorum
from penstock.cluster.raft import messages as m
from penstock.cluster.raft.values import NO_NODE, Address, LogPosition
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import (
    add_raft_voter,
    begin_quorum_epoch,
    describe_quorum,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    remove_raft_voter,
    update_raft_voter,
    vote,
)


def _leader_id(response: m.Response) -> int:
    return NO_NODE if response.leader_id is None else response.leader_id


def _node_endpoints(response: m.Response, kind: Any) -> list[Any]:
    """The leader's address: one listener, the quorum's."""
    if response.leader_id is None or not response.leader_endpoints:
        return []
    at = response.leader_endpoints[0]
    return [kind(node_id=response.leader_id, host=at.host, port=at.port)]


def encode_response(request: m.Request, response: m.Response) -> Any:
    """The message that answers `request`."""
    if isinstance(request, m.VoteRequest):
        return _encode_election(vote, vote.VoteResponse, response)
    if isinstance(request, m.BeginQuorumEpochRequest):
        return _encode_election(begin_quorum_epoch, begin_quorum_epoch.BeginQuorumEpochResponse, response)
    if isinstance(request, m.EndQuorumEpochRequest):
        return _encode_election(end_quorum_epoch, end_quorum_epoch.EndQuorumEpochResponse, response)
    if isinstance(request, m.FetchRequest):
        assert isinstance(response, m.FetchResponse)
        return _encode_fetch_response(response)
    if isinstance(request, m.FetchSnapshotRequest):
        assert isinstance(response, m.FetchSnapshotResponse)
        return _encode_snapshot_response(response)
    if isinstance(request, m.DescribeQuorumRequest):
        assert isinstance(response, m.DescribeQuorumResponse)
        return _encode_description(response)
    assert isinstance(response, m.VoterChangeResponse)
    if isinstance(request, m.AddVoterRequest):
        return add_raft_voter.AddRaftVoterResponse(error_code=response.error, error_message=response.message)
    if isinstance(request, m.RemoveVoterRequest):
        return remove_raft_voter.RemoveRaftVoterResponse(
            error_code=response.error, error_message=response.message
        )
    at = response.leader_endpoints[0] if response.leader_endpoints else Address("", "", 0)
    return update_raft_voter.UpdateRaftVoterResponse(
        error_code=response.error,
        current_leader=update_raft_voter.CurrentLeader(
            leader_id=_leader_id(response), leader_epoch=response.epoch, host=at.host, port=at.port
        ),
    )


def _encode_election(module: Any, kind: Any, response: m.Response) -> Any:
    """Vote, BeginQuorumEpoch and EndQuorumEpoch have answers of one form."""
    if response.error is ErrorCode.INCONSISTENT_CLUSTER_ID:
        return kind(error_code=response.error)
    partition: dict[str, Any] = {
        "error_code": response.error,
        "leader_id": _leader_id(response),
        "leader_epoch": response.epoch,
    }
    if isinstance(response, m.VoteResponse):
        partition["vote_granted"] = response.is_granted
    data = module.ResponsePartitionData(**partition)
    return kind(
        topics=[module.ResponseTopicData(topic_name=CLUSTER_METADATA, partitions=[data])],
        node_endpoints=_node_endpoints(response, module.NodeEndpoint),
    )


def _encode_fetch_response(response: m.FetchResponse) -> fetch.FetchResponse:
    if response.error is ErrorCode.INCONSISTENT_CLUSTER_ID:
        return fetch.FetchResponse(error_code=response.error)
    none = LogPosition(-1, -1)
    diverging, snapshot = response.diverging or none, response.snapshot or none
    partition = fetch.PartitionData(
        error_code=response.error,
        high_watermark=response.high_watermark,
        log_start_offset=response.log_start_offset,
        diverging_epoch=fetch.EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.offset),
        current_leader=fetch.LeaderIdAndEpoch(leader_id=_leader_id(response), leader_epoch=response.epoch),
        snapshot_id=fetch.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch),
        records=response.records,
    )
    topic = fetch.FetchableTopicResponse(
        topic=CLUSTER_METADATA, topic_id=METADATA_TOPIC_ID, partitions=[partition]
    )
    return fetch.FetchResponse(
        responses=[topic], node_endpoints=_node_endpoints(response, fetch.NodeEndpoint)
    )


def _encode_snapshot_response(response: m.FetchSnapshotResponse) -> fetch_snapshot.FetchSnapshotResponse:
    if response.error is ErrorCode.INCONSISTENT_CLUSTER_ID:
        return fetch_snapshot.FetchSnapshotResponse(error_code=response.error)
    partition = fetch_snapshot.ResponsePartitionSnapshot(
        error_code=response.error,
        snapshot_id=fetch_snapshot.ResponseSnapshotId(
            end_offset=response.snapshot.offset, epoch=response.snapshot.epoch
        ),
        current_leader=fetch_snapshot.LeaderIdAndEpoch(
            leader_id=_leader_id(response), leader_epoch=response.epoch
        ),
        size=response.size_bytes,
        position=response.position,
        unaligned_records=response.data,
    )
    return fetch_snapshot.FetchSnapshotResponse(
        topics=[fetch_snapshot.ResponseTopicSnapshot(name=CLUSTER_METADATA, partitions=[partition])],
        node_endpoints=_node_endpoints(response, fetch_snapshot.NodeEndpoint),
    )


def _encode_description(response: m.DescribeQuorumResponse) -> describe_quorum.DescribeQuorumResponse:
    def states(progress: tuple[m.ReplicaProgress, ...]) -> list[describe_quorum.ReplicaState]:
        return [
            describe_quorum.ReplicaState(
                replica_id=each.key.node_id,
                replica_directory_id=each.key.directory_id,
                log_end_offset=each.log_end_offset,
                last_fetch_timestamp=each.last_fetch_ms,
                last_caught_up_timestamp=each.last_caught_up_ms,
            )
            for each in progress
        ]

    partition = describe_quorum.ResponsePartitionData(
        error_code=response.error,
        error_message=None,
        leader_id=_leader_id(response),
        leader_epoch=response.epoch,
        high_watermark=response.high_watermark,
        current_voters=states(response.voters),
        observers=states(response.observers),
    )
    return describe_quorum.DescribeQuorumResponse(
        error_message=None,
        topics=[describe_quorum.ResponseTopicData(topic_name=CLUSTER_METADATA, partitions=[partition])],
        nodes=[
            describe_quorum.Node(
                node_id=voter.key.node_id,
                listeners=[
                    describe_quorum.Listener(name=at.name, host=at.host, port=at.port)
                    for at in voter.endpoints
                ],
            )
            for voter in response.endpoints
        ],
    )


def decode_response(request: m.Request, message: Any, listener: str) -> m.Response:
    """Decode a received message into the response to `request`. Raises `NotTheQuorum`.

    The addresses in it are of the listener that the request was sent to.
    """
    if isinstance(request, m.AddVoterRequest | m.RemoveVoterRequest):
        return m.VoterChangeResponse(
            error=ErrorCode(message.error_code), message=message.error_message or None
        )
    if isinstance(request, m.UpdateVoterRequest):
        leader = message.current_leader
        return m.VoterChangeResponse(
            error=ErrorCode(message.error_code),
            epoch=leader.leader_epoch,
            leader_id=None if leader.leader_id == NO_NODE else leader.leader_id,
        )
    if message.error_code:
        return _EMPTY_ANSWER[type(request)](error=ErrorCode(message.error_code))
    return _decode_partition(request, message, listener)


_EMPTY_ANSWER: Final[dict[type, type[m.Response]]] = {
    m.VoteRequest: m.VoteResponse,
    m.BeginQuorumEpochRequest: m.BeginQuorumEpochResponse,
    m.EndQuorumEpochRequest: m.EndQuorumEpochResponse,
    m.FetchRequest: m.FetchResponse,
    m.FetchSnapshotRequest: m.FetchSnapshotResponse,
    m.DescribeQuorumRequest: m.DescribeQuorumResponse,
}


def _decode_partition(request: m.Request, message: Any, listener: str) -> m.Response:
    topics: list[Any] = message.responses if isinstance(message, fetch.FetchResponse) else message.topics
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise NotTheQuorum
    at = topics[0].partitions[0]
    leader = at.current_leader if hasattr(at, "current_leader") else at
    nodes = [] if isinstance(request, m.DescribeQuorumRequest) else message.node_endpoints
    known: dict[str, Any] = {
        "error": ErrorCode(at.error_code),
        "epoch": leader.leader_epoch,
        "leader_id": None if leader.leader_id == NO_NODE else leader.leader_id,
        "leader_endpoints": tuple(
            Address(listener, each.host, each.port) for each in nodes if each.node_id == leader.leader_id
        ),
    }
    if isinstance(request, m.FetchRequest):
        return _decode_fetch_partition(at, known)
    if isinstance(request, m.FetchSnapshotRequest):
        return m.FetchSnapshotResponse(
            snapshot=LogPosition(at.snapshot_id.epoch, at.snapshot_id.end_offset),
            size_bytes=at.size,
            position=at.position,
            data=bytes(at.unaligned_records or b""),
            **known,
        )
    if isinstance(request, m.VoteRequest):
        return m.VoteResponse(is_granted=at.vote_granted, **known)
    return _EMPTY_ANSWER[type(request)](**known)


def _decode_fetch_partition(at: fetch.PartitionData, known: dict[str, Any]) -> m.FetchResponse:
    diverging = LogPosition(at.diverging_epoch.epoch, at.diverging_epoch.end_offset)
    snapshot = LogPosition(at.snapshot_id.epoch, at.snapshot_id.end_offset)
    return m.FetchResponse(
        high_watermark=at.high_watermark,
        log_start_offset=at.log_start_offset,
        diverging=diverging if diverging.epoch >= 0 and diverging.offset >= 0 else None,
        snapshot=snapshot if snapshot.epoch >= 0 and snapshot.offset >= 0 else None,
        records=bytes(at.records or b""),
        **known,
    )
