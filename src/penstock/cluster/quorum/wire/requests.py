"""Requests of the quorum as Kafka's messages, and back."""

from typing import Any

from penstock.cluster.metadata.topic_names import CLUSTER_METADATA, METADATA_TOPIC_ID
from penstock.cluster.quorum.wire.apis import NotTheQuorum
from penstock.cluster.raft import messages as m
from penstock.cluster.raft.values import NO_NODE, Address, LogPosition, ReplicaKey
from penstock.cluster.raft.voters import Voter
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


def _only(topics: list[Any], name_of: str = "topic_name") -> Any:
    """The one partition that a message is about."""
    is_one = len(topics) == 1 and len(topics[0].partitions) == 1
    if not is_one or getattr(topics[0], name_of) != CLUSTER_METADATA:
        raise NotTheQuorum
    return topics[0].partitions[0]


def _replica(node_id: int, directory_id: bytes) -> ReplicaKey:
    return ReplicaKey(node_id, bytes(directory_id))


def _voter_or_none(node_id: int, directory_id: bytes) -> ReplicaKey | None:
    return None if node_id == NO_NODE else _replica(node_id, directory_id)


def _addresses(endpoints: list[Any]) -> tuple[Address, ...]:
    return tuple(Address(each.name, each.host, each.port) for each in endpoints)


def encode_request(request: m.Request, version: int) -> Any:
    """The message that carries a request in a version of its API, which is in `APIS`."""
    if isinstance(request, m.VoteRequest):
        return _encode_vote(request)
    if isinstance(request, m.BeginQuorumEpochRequest):
        return _encode_begin(request)
    if isinstance(request, m.EndQuorumEpochRequest):
        return _encode_end(request)
    if isinstance(request, m.FetchRequest):
        return _encode_fetch(request)
    if isinstance(request, m.FetchSnapshotRequest):
        return _encode_fetch_snapshot(request)
    if isinstance(request, m.AddVoterRequest):
        return add_raft_voter.AddRaftVoterRequest(
            cluster_id=request.cluster_id,
            timeout_ms=request.timeout_ms,
            voter_id=request.voter.key.node_id,
            voter_directory_id=request.voter.key.directory_id,
            listeners=[
                add_raft_voter.Listener(name=at.name, host=at.host, port=at.port)
                for at in request.voter.endpoints
            ],
            # Before v1 (Kafka 4.2) the leader always answers when the change is committed.
            ack_when_committed=request.ack_when_committed or version == 0,
        )
    if isinstance(request, m.RemoveVoterRequest):
        return remove_raft_voter.RemoveRaftVoterRequest(
            cluster_id=request.cluster_id,
            voter_id=request.voter.node_id,
            voter_directory_id=request.voter.directory_id,
        )
    if isinstance(request, m.UpdateVoterRequest):
        return _encode_update(request)
    partition = describe_quorum.RequestPartitionData(partition_index=0)
    topic = describe_quorum.RequestTopicData(topic_name=CLUSTER_METADATA, partitions=[partition])
    return describe_quorum.DescribeQuorumRequest(topics=[topic])


def _encode_vote(request: m.VoteRequest) -> vote.VoteRequest:
    voter = request.voter
    partition = vote.RequestPartitionData(
        replica_epoch=request.epoch,
        replica_id=request.candidate.node_id,
        replica_directory_id=request.candidate.directory_id,
        voter_directory_id=bytes(16) if voter is None else voter.directory_id,
        last_offset_epoch=request.last.epoch,
        last_offset=request.last.offset,
        pre_vote=request.is_pre_vote,
    )
    return vote.VoteRequest(
        cluster_id=request.cluster_id,
        voter_id=NO_NODE if voter is None else voter.node_id,
        topics=[vote.RequestTopicData(topic_name=CLUSTER_METADATA, partitions=[partition])],
    )


def _encode_begin(request: m.BeginQuorumEpochRequest) -> begin_quorum_epoch.BeginQuorumEpochRequest:
    voter = request.voter
    partition = begin_quorum_epoch.RequestPartitionData(
        voter_directory_id=bytes(16) if voter is None else voter.directory_id,
        leader_id=request.leader_id,
        leader_epoch=request.epoch,
    )
    return begin_quorum_epoch.BeginQuorumEpochRequest(
        cluster_id=request.cluster_id,
        voter_id=NO_NODE if voter is None else voter.node_id,
        topics=[begin_quorum_epoch.RequestTopicData(topic_name=CLUSTER_METADATA, partitions=[partition])],
        leader_endpoints=[
            begin_quorum_epoch.LeaderEndpoint(name=at.name, host=at.host, port=at.port)
            for at in request.endpoints
        ],
    )


def _encode_end(request: m.EndQuorumEpochRequest) -> end_quorum_epoch.EndQuorumEpochRequest:
    partition = end_quorum_epoch.RequestPartitionData(
        leader_id=request.leader_id,
        leader_epoch=request.epoch,
        preferred_candidates=[
            end_quorum_epoch.ReplicaInfo(candidate_id=each.node_id, candidate_directory_id=each.directory_id)
            for each in request.preferred
        ],
    )
    return end_quorum_epoch.EndQuorumEpochRequest(
        cluster_id=request.cluster_id,
        topics=[end_quorum_epoch.RequestTopicData(topic_name=CLUSTER_METADATA, partitions=[partition])],
        leader_endpoints=[
            end_quorum_epoch.LeaderEndpoint(name=at.name, host=at.host, port=at.port)
            for at in request.endpoints
        ],
    )


def _encode_fetch(request: m.FetchRequest) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        current_leader_epoch=request.epoch,
        fetch_offset=request.offset,
        last_fetched_epoch=request.last_epoch,
        partition_max_bytes=request.max_bytes,
        replica_directory_id=request.replica.directory_id,
        high_watermark=request.high_watermark,
    )
    return fetch.FetchRequest(
        cluster_id=request.cluster_id,
        replica_state=fetch.ReplicaState(replica_id=request.replica.node_id),
        max_wait_ms=request.max_wait_ms,
        max_bytes=request.max_bytes,
        topics=[fetch.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
    )


def _encode_fetch_snapshot(request: m.FetchSnapshotRequest) -> fetch_snapshot.FetchSnapshotRequest:
    partition = fetch_snapshot.RequestPartitionSnapshot(
        current_leader_epoch=request.epoch,
        snapshot_id=fetch_snapshot.RequestSnapshotId(
            end_offset=request.snapshot.offset, epoch=request.snapshot.epoch
        ),
        position=request.position,
        replica_directory_id=request.replica.directory_id,
    )
    return fetch_snapshot.FetchSnapshotRequest(
        cluster_id=request.cluster_id,
        replica_id=request.replica.node_id,
        max_bytes=request.max_bytes,
        topics=[fetch_snapshot.RequestTopicSnapshot(name=CLUSTER_METADATA, partitions=[partition])],
    )


def _encode_update(request: m.UpdateVoterRequest) -> update_raft_voter.UpdateRaftVoterRequest:
    voter = request.voter
    return update_raft_voter.UpdateRaftVoterRequest(
        cluster_id=request.cluster_id,
        current_leader_epoch=request.epoch,
        voter_id=voter.key.node_id,
        voter_directory_id=voter.key.directory_id,
        listeners=[
            update_raft_voter.Listener(name=at.name, host=at.host, port=at.port) for at in voter.endpoints
        ],
        kraft_version_feature=update_raft_voter.KRaftVersionFeature(
            min_supported_version=voter.versions[0], max_supported_version=voter.versions[1]
        ),
    )


def is_about_quorum(message: fetch.FetchRequest) -> bool:
    """Whether a fetch is a quorum fetch, and not from a topic's replica or a consumer."""
    return any(
        each.topic == CLUSTER_METADATA or each.topic_id == METADATA_TOPIC_ID for each in message.topics
    )


def decode_request(message: Any) -> m.Request:
    """Decode a received message into a request. Raises `NotTheQuorum`."""
    if isinstance(message, vote.VoteRequest):
        at: Any = _only(message.topics)
        return m.VoteRequest(
            cluster_id=message.cluster_id,
            voter=_voter_or_none(message.voter_id, at.voter_directory_id),
            candidate=_replica(at.replica_id, at.replica_directory_id),
            epoch=at.replica_epoch,
            last=LogPosition(at.last_offset_epoch, at.last_offset),
            is_pre_vote=at.pre_vote,
        )
    if isinstance(message, begin_quorum_epoch.BeginQuorumEpochRequest):
        at = _only(message.topics)
        return m.BeginQuorumEpochRequest(
            cluster_id=message.cluster_id,
            voter=_voter_or_none(message.voter_id, at.voter_directory_id),
            leader_id=at.leader_id,
            epoch=at.leader_epoch,
            endpoints=_addresses(message.leader_endpoints),
        )
    if isinstance(message, end_quorum_epoch.EndQuorumEpochRequest):
        return _decode_end(message)
    if isinstance(message, fetch.FetchRequest):
        return _decode_fetch(message)
    if isinstance(message, fetch_snapshot.FetchSnapshotRequest):
        at = _only(message.topics, "name")
        return m.FetchSnapshotRequest(
            cluster_id=message.cluster_id,
            replica=_replica(message.replica_id, at.replica_directory_id),
            epoch=at.current_leader_epoch,
            snapshot=LogPosition(at.snapshot_id.epoch, at.snapshot_id.end_offset),
            position=at.position,
            max_bytes=message.max_bytes,
        )
    if isinstance(message, add_raft_voter.AddRaftVoterRequest):
        return m.AddVoterRequest(
            cluster_id=message.cluster_id,
            voter=Voter(
                key=_replica(message.voter_id, message.voter_directory_id),
                endpoints=_addresses(message.listeners),
            ),
            timeout_ms=message.timeout_ms,
            ack_when_committed=message.ack_when_committed,
        )
    if isinstance(message, remove_raft_voter.RemoveRaftVoterRequest):
        return m.RemoveVoterRequest(
            cluster_id=message.cluster_id, voter=_replica(message.voter_id, message.voter_directory_id)
        )
    if isinstance(message, update_raft_voter.UpdateRaftVoterRequest):
        versions = message.kraft_version_feature
        return m.UpdateVoterRequest(
            cluster_id=message.cluster_id,
            epoch=message.current_leader_epoch,
            voter=Voter(
                key=_replica(message.voter_id, message.voter_directory_id),
                endpoints=_addresses(message.listeners),
                versions=(versions.min_supported_version, versions.max_supported_version),
            ),
        )
    assert isinstance(message, describe_quorum.DescribeQuorumRequest)
    _only(message.topics)
    return m.DescribeQuorumRequest()


def _decode_end(message: end_quorum_epoch.EndQuorumEpochRequest) -> m.EndQuorumEpochRequest:
    at = _only(message.topics)
    preferred = tuple(
        _replica(each.candidate_id, each.candidate_directory_id) for each in at.preferred_candidates
    )
    return m.EndQuorumEpochRequest(
        cluster_id=message.cluster_id,
        leader_id=at.leader_id,
        epoch=at.leader_epoch,
        preferred=preferred or tuple(ReplicaKey(each) for each in at.preferred_successors),
        endpoints=_addresses(message.leader_endpoints),
    )


def _decode_fetch(message: fetch.FetchRequest) -> m.FetchRequest:
    is_one = len(message.topics) == 1 and len(message.topics[0].partitions) == 1
    if not is_one or not is_about_quorum(message):
        raise NotTheQuorum
    at = message.topics[0].partitions[0]
    state = message.replica_state
    return m.FetchRequest(
        cluster_id=message.cluster_id,
        replica=_replica(
            message.replica_id if state.replica_id == NO_NODE else state.replica_id, at.replica_directory_id
        ),
        epoch=at.current_leader_epoch,
        offset=at.fetch_offset,
        last_epoch=at.last_fetched_epoch,
        max_wait_ms=message.max_wait_ms,
        max_bytes=at.partition_max_bytes or message.max_bytes,
        high_watermark=at.high_watermark,
    )
