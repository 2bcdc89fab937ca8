"""Decides CreateTopics: names, partitions, replicas and settings of new topics."""

import random
from collections import Counter
from collections.abc import Sequence

import msgspec

from penstock.cluster.controller.assignments import (
    check_manual_assignment,
    new_partition,
    require_active_replica,
)
from penstock.cluster.controller.decision import (
    Charge,
    Decision,
    Refusal,
    charge_for,
    no_charge,
    refuse_duplicate,
    refuse_too_large,
)
from penstock.cluster.controller.identifiers import new_topic_id
from penstock.cluster.controller.placement import place_replicas
from penstock.cluster.metadata import topic_names
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.config.broker import BrokerConfig
from penstock.config.describe import Described, describe_topic
from penstock.config.overrides import validate_topic_overrides
from penstock.config.property import ConfigError
from penstock.config.settings import replication
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import (
    ConfigRecord,
    MetadataRecord,
    PartitionRecord,
    TopicRecord,
)
from penstock.protocol.wire import ZERO_UUID


class NewTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic to create. `assignments` are pairs of a partition and its brokers; -1 means the default."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


class TopicCreated(msgspec.Struct, frozen=True, kw_only=True):
    """The result; the other fields are set if `error` is NONE."""

    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: bytes = ZERO_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[Described, ...] = ()


def decide_create_topics(
    image: MetadataImage,
    config: BrokerConfig,
    topics: Sequence[NewTopic],
    randomness: random.Random,
    charge: Charge = no_charge,
) -> Decision[list[TopicCreated]]:
    """Decide about each topic separately."""
    records: list[MetadataRecord] = []
    results: list[TopicCreated] = []
    occurrences = Counter(topic.name for topic in topics)
    for topic in {each.name: each for each in topics}.values():
        try:
            refuse_duplicate(occurrences[topic.name])
            made, result = _create(image, config, topic, randomness)
            refuse_too_large(len(records) + len(made))
            charge_for(charge, result.num_partitions)
        except Refusal as refusal:
            results.append(TopicCreated(name=topic.name, error=refusal.code, message=refusal.message))
            continue
        records += made
        results.append(result)
    return Decision(records, results)


def _create(
    image: MetadataImage, config: BrokerConfig, topic: NewTopic, randomness: random.Random
) -> tuple[list[MetadataRecord], TopicCreated]:
    _check_name(image, topic.name)
    settings = _check_settings(config, topic.configs)
    assignments = _assign(image, config, topic, randomness)
    topic_id = new_topic_id(randomness)
    partitions: list[PartitionRecord] = [
        new_partition(image, topic_id, number, replicas) for number, replicas in enumerate(assignments)
    ]
    # Settings come before the partitions, so that a log is never created without them.
    records: list[MetadataRecord] = [
        TopicRecord(name=topic.name, topic_id=topic_id),
        *(
            ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=topic.name, name=name, value=value)
            for name, value in settings.items()
        ),
        *partitions,
    ]
    described = sorted(describe_topic(config, settings), key=lambda each: each.name)
    return records, TopicCreated(
        name=topic.name,
        topic_id=topic_id,
        num_partitions=len(assignments),
        replication_factor=len(assignments[0]),
        configs=tuple(described),
    )


def _check_name(image: MetadataImage, name: str) -> None:
    if name == topic_names.CLUSTER_METADATA:
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
    if (reason := topic_names.invalid_name_reason(name)) is not None:
        raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    if name in image.topics:
        raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if topic_names.has_collision_chars(name):
        colliding = image.names_by_collision_key.get(topic_names.collision_key(name))
        if colliding:
            raise Refusal(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {min(colliding)}",
            )


def _check_settings(config: BrokerConfig, given: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    without_value = [name for name, value in given if value is None]
    if without_value:
        raise Refusal(
            ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(without_value)}"
        )
    settings = {name: value for name, value in given if value is not None}
    try:
        validate_topic_overrides(config, settings)
    except ConfigError as error:
        raise Refusal(ErrorCode.INVALID_CONFIG, str(error)) from error
    return settings


def _assign(
    image: MetadataImage, config: BrokerConfig, topic: NewTopic, randomness: random.Random
) -> list[Sequence[int]]:
    if topic.assignments:
        return _assign_manually(image, topic)
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        raise Refusal(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    count = config[replication.NUM_PARTITIONS] if topic.num_partitions == -1 else topic.num_partitions
    factor = topic.replication_factor
    if factor == -1:
        factor = config[replication.DEFAULT_REPLICATION_FACTOR]
    refuse_too_large(count)
    try:
        return list(
            place_replicas(
                image.brokers.values(),
                partition_count=count,
                replication_factor=factor,
                randomness=randomness,
            )
        )
    except Refusal as refusal:
        message = f"Unable to replicate the partition {factor} time(s): {refusal.message}"
        raise Refusal(refusal.code, message) from refusal


def _assign_manually(image: MetadataImage, topic: NewTopic) -> list[Sequence[int]]:
    if topic.replication_factor != -1:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    if topic.num_partitions != -1:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    assigned: dict[int, Sequence[int]] = {}
    factor: int | None = None
    for number, replicas in topic.assignments:
        if number in assigned:
            raise Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {number}",
            )
        check_manual_assignment(image, replicas, factor)
        require_active_replica(image, replicas, number)
        factor = len(replicas)
        assigned[number] = replicas
    if sorted(assigned) != list(range(len(assigned))):
        raise Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return [assigned[number] for number in range(len(assigned))]
