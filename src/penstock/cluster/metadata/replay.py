"""Applies metadata records to the image. An invalid record means that the log is not this cluster's.

The records of a metadata transaction (KIP-868) are collected in the image and applied when it ends, all at once; those
of an aborted transaction are dropped. Kafka's controllers write them: a decision of ours is one batch.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from penstock.cluster.metadata import topic_names
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.image import SYNC_HISTORY, MetadataImage, ResourceType
from penstock.cluster.metadata.mirrors import MIRRORED_TOPIC
from penstock.cluster.metadata.state import (
    Partition,
    RegisteredBroker,
    RegisteredController,
    Topic,
)
from penstock.protocol.messages import metadata_records as mr
from penstock.security.acl import AccessControlEntry
from penstock.security.scram_credentials import ScramCredential


def apply(image: MetadataImage, records: Iterable[mr.MetadataRecord], last_offset: int) -> MetadataDelta:
    """Apply records up to `last_offset`; returns the changes."""
    delta = MetadataDelta(last_offset)
    for record in records:
        if image.open_transaction is None or isinstance(record, _ENDS):
            _APPLIERS[type(record)](image, delta, record)
        elif isinstance(record, mr.BeginTransactionRecord):
            raise MetadataError("a metadata transaction begins inside another")
        else:
            image.open_transaction.append(record)
    image.offset = last_offset
    return delta


def _topic(image: MetadataImage, topic_id: bytes) -> Topic:
    topic = image.topics_by_id.get(topic_id)
    if topic is None:
        raise MetadataError(f"a metadata record names topic id {topic_id.hex()}, which does not exist")
    return topic


def _broker(image: MetadataImage, broker_id: int, epoch: int) -> RegisteredBroker:
    broker = image.brokers.get(broker_id)
    if broker is None or broker.epoch != epoch:
        raise MetadataError(
            f"a metadata record names broker {broker_id} of epoch {epoch}, which is not registered"
        )
    return broker


def _topic_created(image: MetadataImage, delta: MetadataDelta, record: mr.TopicRecord) -> None:
    if record.name in image.topics:
        raise MetadataError(f"topic {record.name} is created a second time")
    if record.topic_id in image.topics_by_id:
        raise MetadataError(f"topic {record.name} has the id of {image.topics_by_id[record.topic_id].name}")
    topic = Topic(record.name, record.topic_id)
    image.topics[record.name] = topic
    image.topics_by_id[record.topic_id] = topic
    if topic_names.has_collision_chars(record.name):
        image.names_by_collision_key.setdefault(topic_names.collision_key(record.name), set()).add(
            record.name
        )
    delta.topic_created(topic)


def _topic_removed(image: MetadataImage, delta: MetadataDelta, record: mr.RemoveTopicRecord) -> None:
    topic = _topic(image, record.topic_id)
    del image.topics[topic.name], image.topics_by_id[topic.topic_id]
    key = topic_names.collision_key(topic.name)
    if (names := image.names_by_collision_key.get(key)) is not None:
        names.discard(topic.name)
        if not names:
            del image.names_by_collision_key[key]
    image.configs.pop((SYNC_HISTORY, topic.name), None)
    if image.configs.pop((MIRRORED_TOPIC, topic.name), None) is not None:
        delta.configs_changed.add((MIRRORED_TOPIC, topic.name))
    if image.configs.pop((ResourceType.TOPIC, topic.name), None) is not None:
        delta.configs_changed.add((ResourceType.TOPIC, topic.name))
    delta.topic_deleted(topic)


def _partition_created(image: MetadataImage, delta: MetadataDelta, record: mr.PartitionRecord) -> None:
    topic = _topic(image, record.topic_id)
    partition = Partition.of(record)
    delta.partition_changed(topic, record.partition_id, topic.partitions.get(record.partition_id), partition)
    topic.partitions[record.partition_id] = partition


def _partition_changed(image: MetadataImage, delta: MetadataDelta, record: mr.PartitionChangeRecord) -> None:
    topic = _topic(image, record.topic_id)
    before = topic.partitions.get(record.partition_id)
    if before is None:
        raise MetadataError(f"partition {topic.name}-{record.partition_id} is changed but does not exist")
    after = before.changed(record)
    topic.partitions[record.partition_id] = after
    delta.partition_changed(topic, record.partition_id, before, after)


def _config(image: MetadataImage, delta: MetadataDelta, record: mr.ConfigRecord) -> None:
    resource = (record.resource_type, record.resource_name)
    settings = image.configs.setdefault(resource, {})
    if record.value is None:
        settings.pop(record.name, None)
    else:
        settings[record.name] = record.value
    if not settings:
        del image.configs[resource]
    delta.configs_changed.add(resource)


def _broker_registered(image: MetadataImage, delta: MetadataDelta, record: mr.RegisterBrokerRecord) -> None:
    image.brokers[record.broker_id] = RegisteredBroker.of(record)
    delta.brokers_changed.add(record.broker_id)


def _broker_unregistered(
    image: MetadataImage, delta: MetadataDelta, record: mr.UnregisterBrokerRecord
) -> None:
    _broker(image, record.broker_id, record.broker_epoch)
    del image.brokers[record.broker_id]
    delta.brokers_changed.add(record.broker_id)


def _broker_changed(
    image: MetadataImage, delta: MetadataDelta, record: mr.BrokerRegistrationChangeRecord
) -> None:
    broker = _broker(image, record.broker_id, record.broker_epoch)
    image.brokers[record.broker_id] = broker.changed(record)
    delta.brokers_changed.add(record.broker_id)


def _fence(
    image: MetadataImage, delta: MetadataDelta, record: mr.FenceBrokerRecord | mr.UnfenceBrokerRecord
) -> None:
    broker = _broker(image, record.id, record.epoch)
    fenced = isinstance(record, mr.FenceBrokerRecord)
    image.brokers[record.id] = msgspec.structs.replace(broker, fenced=fenced)
    delta.brokers_changed.add(record.id)


def _feature(image: MetadataImage, delta: MetadataDelta, record: mr.FeatureLevelRecord) -> None:
    if record.feature_level == 0:
        image.features.finalized.pop(record.name, None)
    else:
        image.features.finalized[record.name] = record.feature_level
    image.features.epoch = delta.last_offset
    delta.features_changed = True


def _producer_ids(image: MetadataImage, delta: MetadataDelta, record: mr.ProducerIdsRecord) -> None:
    if record.next_producer_id <= image.next_producer_id:
        raise MetadataError(
            f"producer ids go back from {image.next_producer_id} to {record.next_producer_id}"
        )
    image.next_producer_id = record.next_producer_id
    delta.producer_ids_changed = True


def _credential(image: MetadataImage, delta: MetadataDelta, record: mr.UserScramCredentialRecord) -> None:
    image.credentials[record.name, record.mechanism] = ScramCredential(
        salt=bytes(record.salt),
        stored_key=bytes(record.stored_key),
        server_key=bytes(record.server_key),
        iterations=record.iterations,
    )
    delta.credentials_changed = True


def _credential_removed(
    image: MetadataImage, delta: MetadataDelta, record: mr.RemoveUserScramCredentialRecord
) -> None:
    image.credentials.pop((record.name, record.mechanism), None)
    delta.credentials_changed = True


def _acl(image: MetadataImage, delta: MetadataDelta, record: mr.AccessControlEntryRecord) -> None:
    image.acls[record.id] = AccessControlEntry(
        resource_type=record.resource_type,
        resource_name=record.resource_name,
        pattern_type=record.pattern_type,
        principal=record.principal,
        host=record.host,
        operation=record.operation,
        permission_type=record.permission_type,
    )
    delta.acls_changed.add(record.id)


def _acl_removed(
    image: MetadataImage, delta: MetadataDelta, record: mr.RemoveAccessControlEntryRecord
) -> None:
    image.acls.pop(record.id, None)
    delta.acls_changed.add(record.id)


def _quota(image: MetadataImage, delta: MetadataDelta, record: mr.ClientQuotaRecord) -> None:
    entity = tuple(sorted((each.entity_type, each.entity_name) for each in record.entity))
    quotas = image.quotas.setdefault(entity, {})
    if record.remove:
        quotas.pop(record.key, None)
    else:
        quotas[record.key] = record.value
    if not quotas:
        del image.quotas[entity]
    delta.quotas_changed = True


def _elr_cleared(image: MetadataImage, delta: MetadataDelta, record: mr.ClearElrRecord) -> None:
    """Clear the eligible leaders of one topic, or of all if the record names none."""
    if record.topic_name and record.topic_name not in image.topics:
        raise MetadataError(
            f"the eligible leaders of topic {record.topic_name} are cleared, which does not exist"
        )
    for topic in [image.topics[record.topic_name]] if record.topic_name else image.topics.values():
        for number, partition in topic.partitions.items():
            if partition.elr or partition.last_known_elr:
                none = mr.PartitionChangeRecord(
                    topic_id=topic.topic_id,
                    partition_id=number,
                    eligible_leader_replicas=[],
                    last_known_elr=[],
                )
                _partition_changed(image, delta, none)


def _controller_registered(
    image: MetadataImage, delta: MetadataDelta, record: mr.RegisterControllerRecord
) -> None:
    image.controllers[record.controller_id] = RegisteredController.of(record)
    delta.controllers_changed.add(record.controller_id)


def _token(image: MetadataImage, _delta: MetadataDelta, record: mr.DelegationTokenRecord) -> None:
    image.delegation_tokens[record.token_id] = record


def _token_removed(
    image: MetadataImage, _delta: MetadataDelta, record: mr.RemoveDelegationTokenRecord
) -> None:
    image.delegation_tokens.pop(record.token_id, None)


def _zk_migration(image: MetadataImage, _delta: MetadataDelta, record: mr.ZkMigrationStateRecord) -> None:
    image.zk_migration_state = record.zk_migration_state


def _nothing(_image: MetadataImage, _delta: MetadataDelta, _record: mr.NoOpRecord) -> None:
    """Kafka's controllers write these to move the committed offset on."""


def _transaction_begun(
    image: MetadataImage, _delta: MetadataDelta, _record: mr.BeginTransactionRecord
) -> None:
    image.open_transaction = []


def _transaction_ended(image: MetadataImage, delta: MetadataDelta, _record: mr.EndTransactionRecord) -> None:
    for record in _take_transaction(image):
        _APPLIERS[type(record)](image, delta, record)


def _transaction_aborted(
    image: MetadataImage, _delta: MetadataDelta, _record: mr.AbortTransactionRecord
) -> None:
    _take_transaction(image)


def _take_transaction(image: MetadataImage) -> list[mr.MetadataRecord]:
    if image.open_transaction is None:
        raise MetadataError("a metadata transaction ends that has not begun")
    records, image.open_transaction = image.open_transaction, None
    return records


_APPLIERS: dict[type[mr.MetadataRecord], Callable[[MetadataImage, MetadataDelta, Any], None]] = {
    mr.TopicRecord: _topic_created,
    mr.RemoveTopicRecord: _topic_removed,
    mr.PartitionRecord: _partition_created,
    mr.PartitionChangeRecord: _partition_changed,
    mr.ConfigRecord: _config,
    mr.RegisterBrokerRecord: _broker_registered,
    mr.UnregisterBrokerRecord: _broker_unregistered,
    mr.BrokerRegistrationChangeRecord: _broker_changed,
    mr.FenceBrokerRecord: _fence,
    mr.UnfenceBrokerRecord: _fence,
    mr.FeatureLevelRecord: _feature,
    mr.ProducerIdsRecord: _producer_ids,
    mr.UserScramCredentialRecord: _credential,
    mr.RemoveUserScramCredentialRecord: _credential_removed,
    mr.AccessControlEntryRecord: _acl,
    mr.RemoveAccessControlEntryRecord: _acl_removed,
    mr.ClientQuotaRecord: _quota,
    mr.ClearElrRecord: _elr_cleared,
    mr.RegisterControllerRecord: _controller_registered,
    mr.DelegationTokenRecord: _token,
    mr.RemoveDelegationTokenRecord: _token_removed,
    mr.ZkMigrationStateRecord: _zk_migration,
    mr.NoOpRecord: _nothing,
    mr.BeginTransactionRecord: _transaction_begun,
    mr.EndTransactionRecord: _transaction_ended,
    mr.AbortTransactionRecord: _transaction_aborted,
}
_ENDS = (mr.EndTransactionRecord, mr.AbortTransactionRecord)
