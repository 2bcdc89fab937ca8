"""The image as records, for a metadata snapshot: applied to an empty image they restore it."""

from collections.abc import Iterator

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Partition, RegisteredBroker, RegisteredController
from penstock.protocol.messages import metadata_records as mr


def records_of(image: MetadataImage) -> Iterator[mr.MetadataRecord]:
    """The records in an order that can be applied: features first, a topic before its partitions."""
    for name, level in sorted(image.features.finalized.items()):
        yield mr.FeatureLevelRecord(name=name, feature_level=level)
    for broker_id in sorted(image.brokers):
        yield _broker(image.brokers[broker_id])
    for controller_id in sorted(image.controllers):
        yield _controller(image.controllers[controller_id])
    for topic in image.topics.values():
        yield mr.TopicRecord(name=topic.name, topic_id=topic.topic_id)
        for number, partition in topic.partitions.items():
            yield partition_record(topic.topic_id, number, partition)
    for (kind, resource), settings in image.configs.items():
        for name, value in settings.items():
            yield mr.ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)
    if image.next_producer_id:
        yield mr.ProducerIdsRecord(next_producer_id=image.next_producer_id)
    if image.zk_migration_state:
        yield mr.ZkMigrationStateRecord(zk_migration_state=image.zk_migration_state)
    yield from _security(image)


def _security(image: MetadataImage) -> Iterator[mr.MetadataRecord]:
    for (user, mechanism), credential in image.credentials.items():
        yield mr.UserScramCredentialRecord(
            name=user,
            mechanism=mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    for acl_id, acl in image.acls.items():
        yield mr.AccessControlEntryRecord(
            id=acl_id,
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
    for entity, quotas in image.quotas.items():
        named = [mr.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
        for key, value in quotas.items():
            yield mr.ClientQuotaRecord(entity=named, key=key, value=value)
    yield from image.delegation_tokens.values()


def _broker(broker: RegisteredBroker) -> mr.RegisterBrokerRecord:
    return mr.RegisterBrokerRecord(
        broker_id=broker.broker_id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            mr.BrokerEndpoint(
                name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol_id
            )
            for each in broker.endpoints
        ],
        features=[
            mr.BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
        cordoned_log_dirs=None if broker.cordoned_log_dirs is None else list(broker.cordoned_log_dirs),
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
    )


def _controller(controller: RegisteredController) -> mr.RegisterControllerRecord:
    return mr.RegisterControllerRecord(
        controller_id=controller.controller_id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=[
            mr.ControllerEndpoint(
                name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol_id
            )
            for each in controller.endpoints
        ],
        features=[
            mr.ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in controller.features.items()
        ],
    )


def partition_record(topic_id: bytes, number: int, partition: Partition) -> mr.PartitionRecord:
    """The whole state of a partition in one record."""
    return mr.PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(partition.elr) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )
