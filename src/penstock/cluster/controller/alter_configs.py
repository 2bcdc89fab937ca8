"""Decides AlterConfigs, which replaces all settings of a resource, and IncrementalAlterConfigs, which changes some."""

import enum
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from penstock.cluster.controller.alter_mirrors import mirror_records
from penstock.cluster.controller.decision import Decision, Refusal
from penstock.cluster.controller.min_isr_default import check_min_isr
from penstock.cluster.controller.settings_review import REVIEWED, review_change
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.mirrors import MIRROR
from penstock.cluster.metadata.topic_names import invalid_name_reason
from penstock.config.broker import BrokerConfig
from penstock.config.client_metrics import InvalidSubscription, parse_subscription
from penstock.config.overrides import (
    validate_dynamic_broker_settings,
    validate_group_overrides,
    validate_topic_overrides,
)
from penstock.config.property import ConfigError, Kind, Property, render
from penstock.config.settings.topic import MIN_INSYNC_REPLICAS
from penstock.config.table import CLIENT_METRICS, GROUP, TOPIC, broker_property
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ConfigRecord


class Operation(enum.IntEnum):
    """The kind of change of a setting, with the protocol's numbers (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class SettingChange(msgspec.Struct, frozen=True):
    name: str
    operation: int
    value: str | None = None


class ResourceChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of one resource. The name of a broker is its id, or empty for all brokers."""

    resource_type: int
    resource_name: str
    changes: Sequence[SettingChange]


class ConfigsAltered(msgspec.Struct, frozen=True, kw_only=True):
    resource_type: int
    resource_name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_incremental_alter_configs(
    image: MetadataImage, config: BrokerConfig, resources: Sequence[ResourceChanges]
) -> Decision[list[ConfigsAltered]]:
    """Change only the settings that are named."""
    return _decide(image, config, resources, replace_all=False)


def decide_alter_configs(
    image: MetadataImage, config: BrokerConfig, resources: Sequence[ResourceChanges]
) -> Decision[list[ConfigsAltered]]:
    """Replace all settings by the named ones (all SET): the others return to their defaults."""
    return _decide(image, config, resources, replace_all=True)


def _decide(
    image: MetadataImage, config: BrokerConfig, resources: Sequence[ResourceChanges], *, replace_all: bool
) -> Decision[list[ConfigsAltered]]:
    records: list[ConfigRecord] = []
    results: list[ConfigsAltered] = []
    changed: dict[tuple[int, str], dict[str, str]] = {}
    occurrences = Counter((each.resource_type, each.resource_name) for each in resources)
    for resource in resources:
        key = (resource.resource_type, resource.resource_name)
        try:
            check_form(resource, occurrences[key])
            if resource.resource_type == MIRROR:
                records += _mirror_records(image, resource, replace_all=replace_all)
                results.append(_result(resource, ErrorCode.NONE, None))
                continue
            _check_type(resource.resource_type)
            before = image.configs.get(key, {})
            after = settings_after(image, resource, replace_all=replace_all)
            _check_result(image, config, resource, after)
        except Refusal as refusal:
            results.append(_result(resource, refusal.code, refusal.message))
            continue
        records += _records(resource, before, after)
        changed[key] = after
        results.append(_result(resource, ErrorCode.NONE, None))
    is_reviewed = any(record.name in REVIEWED for record in records)
    effects = review_change(image, config, changed) if is_reviewed else []
    return Decision([*records, *effects], results)


_ALTERABLE = (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS)
_TABLES = {
    ResourceType.TOPIC: TOPIC,
    ResourceType.GROUP: GROUP,
    ResourceType.CLIENT_METRICS: CLIENT_METRICS,
}


def _mirror_records(
    image: MetadataImage, resource: ResourceChanges, *, replace_all: bool
) -> list[ConfigRecord]:
    if replace_all or any(
        each.operation not in (Operation.SET, Operation.DELETE) for each in resource.changes
    ):
        raise Refusal(
            ErrorCode.INVALID_REQUEST, "Settings of a mirror can only be set or deleted one by one."
        )
    given = {each.name: each.value if each.operation == Operation.SET else None for each in resource.changes}
    return mirror_records(image, resource.resource_name, given)


def settings_after(image: MetadataImage, resource: ResourceChanges, *, replace_all: bool) -> dict[str, str]:
    """The settings of the resource after the changes. Raises `Refusal`."""
    before = image.configs.get((resource.resource_type, resource.resource_name), {})
    after = {} if replace_all else dict(before)
    for change in resource.changes:
        _change(after, before, resource.resource_type, change)
    return after


def check_form(resource: ResourceChanges, occurrences: int) -> None:
    """Refuse changes that are invalid for any type of resource."""
    if occurrences > 1:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    names = [change.name for change in resource.changes]
    if len(set(names)) != len(names):
        raise Refusal(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    missing = [
        change.name
        for change in resource.changes
        if change.value is None and change.operation != Operation.DELETE
    ]
    if missing:
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(missing)}")


def _check_type(resource_type: int) -> None:
    if resource_type not in _ALTERABLE:
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource_type}")


def _change(
    settings: dict[str, str], before: Mapping[str, str], resource_type: int, change: SettingChange
) -> None:
    name, value = change.name, change.value or ""
    if change.operation == Operation.SET:
        settings[name] = value
    elif change.operation == Operation.DELETE:
        settings.pop(name, None)
    elif change.operation in (Operation.APPEND, Operation.SUBTRACT):
        operation = Operation(change.operation)
        prop = _property(resource_type, name)
        if prop is None or prop.kind is not Kind.LIST:
            raise Refusal(ErrorCode.INVALID_CONFIG, _not_a_list(resource_type, name, operation, prop))
        current = before.get(name, render(prop.default) or "")
        settings[name] = _edit_list(current, value, operation)
    else:
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Unknown operations type {change.operation}")


def _not_a_list(resource_type: int, name: str, operation: Operation, prop: Property[object] | None) -> str:
    """Kafka's message: for a broker's setting its broker writes it, for others the controller."""
    if resource_type != ResourceType.BROKER:
        return f"Can't {operation.name} to key {name} because its type is not LIST."
    if prop is None:
        return f"Unknown config name: {name}"
    return f"Config value {operation.name.lower()} is not allowed for config key: {name}"


def _edit_list(current: str, value: str, operation: Operation) -> str:
    items = [item for item in current.split(",") if item]
    for item in value.split(","):
        if operation is Operation.APPEND and item not in items:
            items.append(item)
        elif operation is Operation.SUBTRACT and item in items:
            items.remove(item)
    return ",".join(items)


def _property(resource_type: int, name: str) -> Property[object] | None:
    table = _TABLES.get(ResourceType(resource_type))
    return broker_property(name) if table is None else table.get(name)


def _check_result(
    image: MetadataImage, config: BrokerConfig, resource: ResourceChanges, after: Mapping[str, str]
) -> None:
    name = resource.resource_name
    try:
        if resource.resource_type == ResourceType.TOPIC:
            _check_topic_name(name)
            validate_topic_overrides(config, after)
            if name not in image.topics:
                raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        elif resource.resource_type == ResourceType.GROUP:
            if not name:
                raise Refusal(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
            validate_group_overrides(config, after)
        elif resource.resource_type == ResourceType.CLIENT_METRICS:
            if not name:
                raise Refusal(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
            parse_subscription(after)
        else:
            _check_broker_name(image, name)
            _check_broker_settings(config, resource, after)
            is_named = any(change.name == MIN_INSYNC_REPLICAS.name for change in resource.changes)
            check_min_isr(image, name, is_named=is_named, after=after)
    except ConfigError as error:
        # KAFKA-13609: of these settings Kafka says INVALID_REQUEST where INVALID_CONFIG would be expected.
        is_odd = resource.resource_type == ResourceType.BROKER or isinstance(error, InvalidSubscription)
        code = ErrorCode.INVALID_REQUEST if is_odd else ErrorCode.INVALID_CONFIG
        raise Refusal(code, str(error)) from error


def _check_topic_name(name: str) -> None:
    if not name:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    if (reason := invalid_name_reason(name)) is not None:
        raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def _check_broker_name(image: MetadataImage, name: str) -> None:
    if not name:
        return
    if not (name.isascii() and name.isdigit()):
        raise Refusal(ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number.")
    if int(name) not in image.brokers:
        raise Refusal(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")


def _check_broker_settings(config: BrokerConfig, resource: ResourceChanges, after: Mapping[str, str]) -> None:
    """Check the named settings, alone and together with this broker's other settings.

    The others were checked when they were set, maybe by another version with other rules.
    """
    name = resource.resource_name
    named = {change.name: after[change.name] for change in resource.changes if change.name in after}
    validate_dynamic_broker_settings(named, one_broker=bool(name))
    if not name:
        config.with_dynamic(cluster_wide=after, per_broker=config.per_broker)
    elif int(name) == config.node_id:
        config.with_dynamic(cluster_wide=config.cluster_wide, per_broker=after)


def _records(
    resource: ResourceChanges, before: Mapping[str, str], after: Mapping[str, str]
) -> list[ConfigRecord]:
    """Write the changed settings; for a broker also unchanged ones, so that it reloads its files (KAFKA-14136)."""
    always = resource.resource_type == ResourceType.BROKER
    named = [change.name for change in resource.changes]
    removed = [name for name in before if name not in named]
    return [
        ConfigRecord(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            name=name,
            value=after.get(name),
        )
        for name in (*named, *removed)
        if before.get(name) != after.get(name) or (always and name in named)
    ]


def _result(resource: ResourceChanges, error: ErrorCode, message: str | None) -> ConfigsAltered:
    return ConfigsAltered(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        error=error,
        message=message,
    )
