"""Encodes and decodes the requests of brokers to the controller: both ends of each exchange together."""

from collections.abc import Iterable, Sequence

from penstock.cluster.controller.alter_partition import InSyncChange, InSyncChanged
from penstock.cluster.controller.brokers import BrokerRegistration
from penstock.cluster.controller.controllers import ControllerRegistration
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.directories import DirectoryAssigned, DirectoryAssignment
from penstock.cluster.controller.heartbeats import Heartbeat
from penstock.cluster.controller.membership import HeartbeatAnswer
from penstock.cluster.metadata.state import REGISTERED_FEATURES, Partition
from penstock.config.listeners import SECURITY_PROTOCOL_IDS, Endpoint
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
    ResponseTopicData,
)
from penstock.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from penstock.protocol.messages.assign_replicas_to_dirs import ResponseDirectoryData as AssignedDirectory
from penstock.protocol.messages.assign_replicas_to_dirs import ResponsePartitionData as AssignedPartition
from penstock.protocol.messages.assign_replicas_to_dirs import ResponseTopicData as AssignedTopic
from penstock.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from penstock.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from penstock.protocol.messages.controller_registration import ControllerRegistrationRequest
from penstock.protocol.messages.controller_registration import Feature as ControllerFeature
from penstock.protocol.messages.controller_registration import Listener as ControllerListener

_PROTOCOL_NAMES = {number: name for name, number in SECURITY_PROTOCOL_IDS.items()}
_EPOCH_UNKNOWN = -1


def check(error_code: int, what: str) -> None:
    """Raise `Refusal` for anything but NONE."""
    if error_code:
        code = ErrorCode(error_code)
        raise Refusal(code, f"the controller refused {what}: {code.name}")


# -- AlterPartition


def in_sync_request(
    broker_id: int, broker_epoch: int, changes: Iterable[InSyncChange]
) -> AlterPartitionRequest:
    topics: dict[bytes, list[RequestPartitionData]] = {}
    for change in changes:
        topics.setdefault(change.topic_id, []).append(
            RequestPartitionData(
                partition_index=change.partition,
                leader_epoch=change.leader_epoch,
                new_isr_with_epochs=[
                    BrokerState(broker_id=each, broker_epoch=epoch) for each, epoch in change.isr
                ],
                leader_recovery_state=change.recovery_state,
                partition_epoch=change.partition_epoch,
            )
        )
    return AlterPartitionRequest(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        topics=[RequestTopicData(topic_id=topic_id, partitions=each) for topic_id, each in topics.items()],
    )


def in_sync_changes(request: AlterPartitionRequest) -> list[InSyncChange]:
    """Decode a request; before version 3 the members have no epochs."""
    return [
        InSyncChange(
            topic_id=topic.topic_id,
            partition=each.partition_index,
            leader_epoch=each.leader_epoch,
            partition_epoch=each.partition_epoch,
            isr=tuple((member.broker_id, member.broker_epoch) for member in each.new_isr_with_epochs)
            or tuple((member, _EPOCH_UNKNOWN) for member in each.new_isr),
            recovery_state=each.leader_recovery_state,
        )
        for topic in request.topics
        for each in topic.partitions
    ]


def in_sync_response(results: Sequence[InSyncChanged]) -> AlterPartitionResponse:
    topics: dict[bytes, list[ResponsePartitionData]] = {}
    for result in results:
        topics.setdefault(result.topic_id, []).append(_changed(result))
    return AlterPartitionResponse(
        topics=[ResponseTopicData(topic_id=topic_id, partitions=each) for topic_id, each in topics.items()]
    )


def _changed(result: InSyncChanged) -> ResponsePartitionData:
    after: Partition | None = result.after
    if after is None:
        return ResponsePartitionData(partition_index=result.partition, error_code=result.error)
    return ResponsePartitionData(
        partition_index=result.partition,
        leader_id=after.leader,
        leader_epoch=after.leader_epoch,
        isr=list(after.isr),
        leader_recovery_state=after.leader_recovery_state,
        partition_epoch=after.partition_epoch,
    )


def in_sync_results(response: AlterPartitionResponse) -> list[InSyncChanged]:
    """Decode a response. Raises `Refusal` when the whole request was refused."""
    check(response.error_code, "to change in-sync sets")
    return [
        InSyncChanged(
            topic_id=topic.topic_id, partition=each.partition_index, error=ErrorCode(each.error_code)
        )
        for topic in response.topics
        for each in topic.partitions
    ]


# -- BrokerRegistration


def registration_request(broker: BrokerRegistration, cluster_id: str) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker.broker_id,
        cluster_id=cluster_id,
        incarnation_id=broker.incarnation_id,
        listeners=[
            Listener(
                name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol_id
            )
            for each in broker.endpoints
        ],
        features=[
            Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in (broker.features or REGISTERED_FEATURES).items()
        ],
        rack=broker.rack,
        log_dirs=list(broker.log_dirs),
        previous_broker_epoch=broker.previous_epoch,
    )


def registration_of(request: BrokerRegistrationRequest) -> BrokerRegistration:
    """Raises `Refusal`."""
    return BrokerRegistration(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        endpoints=_endpoints_of(request.listeners),
        rack=request.rack or None,
        previous_epoch=request.previous_broker_epoch,
        log_dirs=request.log_dirs,
        features={
            each.name: (each.min_supported_version, each.max_supported_version) for each in request.features
        },
    )


def _endpoints_of(listeners: Iterable[Listener | ControllerListener]) -> list[Endpoint]:
    """Raises `Refusal`."""
    listeners = list(listeners)
    if unknown := [each for each in listeners if each.security_protocol not in _PROTOCOL_NAMES]:
        raise Refusal(
            ErrorCode.INVALID_REQUEST, f"listener {unknown[0].name} has an unknown security protocol"
        )
    return [
        Endpoint(
            name=each.name,
            host=each.host,
            port=each.port,
            security_protocol=_PROTOCOL_NAMES[each.security_protocol],
        )
        for each in listeners
    ]


def registration_epoch(response: BrokerRegistrationResponse) -> int:
    check(response.error_code, "this broker's registration")
    return response.broker_epoch


# -- ControllerRegistration


def controller_registration_request(controller: ControllerRegistration) -> ControllerRegistrationRequest:
    return ControllerRegistrationRequest(
        controller_id=controller.controller_id,
        incarnation_id=controller.incarnation_id,
        listeners=[
            ControllerListener(
                name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol_id
            )
            for each in controller.endpoints
        ],
        features=[
            ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in controller.features.items()
        ],
    )


def controller_registration_of(request: ControllerRegistrationRequest) -> ControllerRegistration:
    """Raises `Refusal`."""
    return ControllerRegistration(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        endpoints=_endpoints_of(request.listeners),
        features={
            each.name: (each.min_supported_version, each.max_supported_version) for each in request.features
        },
    )


# -- AssignReplicasToDirs


def directory_assignments(request: AssignReplicasToDirsRequest) -> list[DirectoryAssignment]:
    return [
        DirectoryAssignment(directory=directory.id, topic_id=topic.topic_id, partition=each.partition_index)
        for directory in request.directories
        for topic in directory.topics
        for each in topic.partitions
    ]


def directories_response(results: Sequence[DirectoryAssigned]) -> AssignReplicasToDirsResponse:
    directories: dict[bytes, dict[bytes, list[AssignedPartition]]] = {}
    for result in results:
        at = result.assignment
        directories.setdefault(at.directory, {}).setdefault(at.topic_id, []).append(
            AssignedPartition(partition_index=at.partition, error_code=result.error)
        )
    return AssignReplicasToDirsResponse(
        directories=[
            AssignedDirectory(
                id=directory,
                topics=[
                    AssignedTopic(topic_id=topic_id, partitions=partitions)
                    for topic_id, partitions in topics.items()
                ],
            )
            for directory, topics in directories.items()
        ]
    )


# -- BrokerHeartbeat


def heartbeat_request(broker_id: int, broker_epoch: int, wanted: Heartbeat) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        current_metadata_offset=wanted.metadata_offset,
        want_fence=wanted.wants_fence,
        want_shut_down=wanted.wants_shutdown,
        offline_log_dirs=list(wanted.offline_log_dirs),
    )


def heartbeat_of(request: BrokerHeartbeatRequest) -> Heartbeat:
    return Heartbeat(
        metadata_offset=request.current_metadata_offset,
        wants_fence=request.want_fence,
        wants_shutdown=request.want_shut_down,
        offline_log_dirs=tuple(request.offline_log_dirs),
        cordoned_log_dirs=None if request.cordoned_log_dirs is None else tuple(request.cordoned_log_dirs),
    )


def heartbeat_response(answer: HeartbeatAnswer) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(
        is_caught_up=answer.is_caught_up,
        is_fenced=answer.is_fenced,
        should_shut_down=answer.should_shut_down,
    )


def heartbeat_answer(response: BrokerHeartbeatResponse) -> HeartbeatAnswer:
    check(response.error_code, "this broker's heartbeat")
    return HeartbeatAnswer(
        is_caught_up=response.is_caught_up,
        is_fenced=response.is_fenced,
        should_shut_down=response.should_shut_down,
    )
