import pytest

from penstock.cluster.controller.alter_configs import (
    ConfigsAltered,
    Operation,
    ResourceChanges,
    SettingChange,
    decide_alter_configs,
    decide_incremental_alter_configs,
)
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ConfigRecord
from tests.cluster.support import CONFIG, commit, image_of, with_topic

SET, DELETE, APPEND, SUBTRACT = Operation


def image_with_topic() -> MetadataImage:
    image = image_of()
    with_topic(image, "t")
    return image


def topic(*changes: SettingChange, name: str = "t") -> ResourceChanges:
    return ResourceChanges(resource_type=ResourceType.TOPIC, resource_name=name, changes=changes)


def broker(*changes: SettingChange, name: str = "") -> ResourceChanges:
    return ResourceChanges(resource_type=ResourceType.BROKER, resource_name=name, changes=changes)


def alter(image: MetadataImage, *resources: ResourceChanges) -> list[ConfigsAltered]:
    records, results = decide_incremental_alter_configs(image, CONFIG, resources)
    commit(image, records)
    return results


def refusal(image: MetadataImage, resource: ResourceChanges) -> tuple[ErrorCode, str | None]:
    records, (result,) = decide_incremental_alter_configs(image, CONFIG, [resource])
    assert records == []
    return result.error, result.message


def test_only_the_named_settings_change() -> None:
    image = image_with_topic()
    alter(image, topic(SettingChange("retention.ms", SET, "5"), SettingChange("segment.bytes", SET, "100")))
    (result,) = alter(
        image, topic(SettingChange("retention.ms", SET, "6"), SettingChange("flush.ms", DELETE))
    )
    assert result.error is ErrorCode.NONE
    assert image.topic_settings("t") == {"retention.ms": "6", "segment.bytes": "100"}


def test_a_deleted_setting_returns_to_its_default() -> None:
    image = image_with_topic()
    alter(image, topic(SettingChange("retention.ms", SET, "5")))
    alter(image, topic(SettingChange("retention.ms", DELETE)))
    assert image.topic_settings("t") == {}


def test_a_full_alter_configs_removes_the_settings_that_it_does_not_name() -> None:
    image = image_with_topic()
    alter(image, topic(SettingChange("retention.ms", SET, "5"), SettingChange("segment.bytes", SET, "100")))
    records, _ = decide_alter_configs(image, CONFIG, [topic(SettingChange("retention.ms", SET, "7"))])
    commit(image, records)
    assert image.topic_settings("t") == {"retention.ms": "7"}


def test_an_unchanged_topic_setting_writes_no_record_and_an_unchanged_broker_setting_does() -> None:
    image = image_with_topic()
    changes = [
        topic(SettingChange("retention.ms", SET, "5")),
        broker(SettingChange("max.connections", SET, "5")),
    ]
    alter(image, *changes)
    records, _ = decide_incremental_alter_configs(image, CONFIG, changes)
    assert records == [
        ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name="max.connections", value="5")
    ]


def test_append_adds_missing_values_to_a_list_starting_from_the_default() -> None:
    image = image_with_topic()
    alter(image, topic(SettingChange("cleanup.policy", APPEND, "compact")))
    assert image.topic_settings("t") == {"cleanup.policy": "delete,compact"}
    alter(image, topic(SettingChange("cleanup.policy", APPEND, "delete,compact")))
    assert image.topic_settings("t") == {"cleanup.policy": "delete,compact"}


def test_subtract_removes_values_from_a_list() -> None:
    image = image_with_topic()
    alter(image, topic(SettingChange("cleanup.policy", SET, "compact,delete")))
    alter(image, topic(SettingChange("cleanup.policy", SUBTRACT, "delete,other")))
    assert image.topic_settings("t") == {"cleanup.policy": "compact"}


def test_only_a_list_can_be_appended_to_or_subtracted_from() -> None:
    image = image_with_topic()
    assert refusal(image, topic(SettingChange("retention.ms", APPEND, "1"))) == (
        ErrorCode.INVALID_CONFIG,
        "Can't APPEND to key retention.ms because its type is not LIST.",
    )
    assert refusal(image, topic(SettingChange("no.such", SUBTRACT, "1")))[0] is ErrorCode.INVALID_CONFIG


def test_a_bad_setting_leaves_the_whole_resource_unchanged_and_the_others_change() -> None:
    image = image_with_topic()
    with_topic(image, "u")
    bad, good = alter(
        image,
        topic(SettingChange("retention.ms", SET, "5"), SettingChange("segment.bytes", SET, "many")),
        topic(SettingChange("retention.ms", SET, "6"), name="u"),
    )
    assert (bad.error, good.error) == (ErrorCode.INVALID_CONFIG, ErrorCode.NONE)
    assert bad.message == "Invalid value many for configuration segment.bytes: Not a number of type INT"
    assert (image.topic_settings("t"), image.topic_settings("u")) == ({}, {"retention.ms": "6"})


def test_settings_are_checked_together_with_the_unchanged_ones() -> None:
    image = image_with_topic()
    alter(image, topic(SettingChange("max.compaction.lag.ms", SET, "5")))
    code, message = refusal(image, topic(SettingChange("min.compaction.lag.ms", SET, "6")))
    assert code is ErrorCode.INVALID_CONFIG
    assert message == "conflict topic config setting min.compaction.lag.ms (6) > max.compaction.lag.ms (5)"


@pytest.mark.parametrize(
    ("resource", "code", "message"),
    [
        (
            topic(SettingChange("retention.ms", SET, "1"), name="x"),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "The topic 'x' does not exist.",
        ),
        (topic(name=""), ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed."),
        (topic(name=".."), ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: '..' is not allowed"),
        (
            topic(SettingChange("retention.ms", SET, "1"), SettingChange("retention.ms", DELETE)),
            ErrorCode.INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
        (
            topic(SettingChange("a", SET), SettingChange("b", APPEND), SettingChange("c", DELETE)),
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for : a, b",
        ),
        (
            topic(SettingChange("retention.ms", 9, "1")),
            ErrorCode.INVALID_REQUEST,
            "Unknown operations type 9",
        ),
        (
            ResourceChanges(resource_type=1, resource_name="x", changes=()),
            ErrorCode.INVALID_REQUEST,
            "Unknown resource type 1",
        ),
        (broker(name="7"), ErrorCode.BROKER_ID_NOT_REGISTERED, "No node with id 7 found."),
        (broker(name="one"), ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number."),
        (
            broker(SettingChange("node.id", SET, "5"), name="1"),
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs dynamically: [node.id]",
        ),
        (
            broker(SettingChange("ssl.keystore.location", SET, "/x"), name="1"),
            ErrorCode.INVALID_REQUEST,
            (
                "These security configs can be dynamically updated only per-listener using the listener prefix: "
                "[ssl.keystore.location]"
            ),
        ),
        (
            broker(SettingChange("ssl.client.auth", SET, "none"), SettingChange("max.connections", SET, "5")),
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs at default cluster level, broker id must be specified: [ssl.client.auth]",
        ),
        (
            broker(SettingChange("listener.name.a.sasl.jaas.config", SET, "x")),
            ErrorCode.INVALID_REQUEST,
            (
                "Cannot update these configs at default cluster level, broker id must be specified: "
                "[listener.name.a.sasl.jaas.config]"
            ),
        ),
        (
            broker(SettingChange("penstock.disk.reserve", SET, "5")),
            ErrorCode.INVALID_REQUEST,
            "Unknown broker config name: penstock.disk.reserve. Did you mean penstock.disk.reserve.bytes?",
        ),
        (
            broker(SettingChange("max.connections", APPEND, "5")),
            ErrorCode.INVALID_CONFIG,
            "Config value append is not allowed for config key: max.connections",
        ),
        (
            broker(SettingChange("a.plugins.list", SUBTRACT, "5"), name="1"),
            ErrorCode.INVALID_CONFIG,
            "Unknown config name: a.plugins.list",
        ),
        (
            broker(SettingChange("max.connections", SET, "-1")),
            ErrorCode.INVALID_REQUEST,
            "Invalid value -1 for configuration max.connections: Value must be at least 0",
        ),
        (
            broker(SettingChange("advertised.listeners", SET, "SSL://h:1"), name="1"),
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs dynamically: [advertised.listeners]",
        ),
        (
            broker(SettingChange("listeners", SET, "EXTRA://h:1"), name="1"),
            ErrorCode.INVALID_REQUEST,
            (
                "Invalid value EXTRA://h:1 for configuration listeners: no security protocol is defined for "
                "listener EXTRA; add EXTRA:PROTOCOL to listener.security.protocol.map"
            ),
        ),
        (
            ResourceChanges(resource_type=ResourceType.GROUP, resource_name="", changes=()),
            ErrorCode.INVALID_REQUEST,
            "Default group resources are not allowed.",
        ),
    ],
)
def test_an_invalid_change_is_refused(resource: ResourceChanges, code: ErrorCode, message: str) -> None:
    assert refusal(image_with_topic(), resource) == (code, message)


def test_a_resource_named_twice_is_refused_both_times() -> None:
    results = alter(image_with_topic(), topic(), topic())
    assert [(each.error, each.message) for each in results] == [
        (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    ] * 2


def test_brokers_and_groups_have_their_own_settings() -> None:
    image = image_of()
    alter(
        image,
        broker(SettingChange("max.connections", SET, "5")),
        broker(SettingChange("listener.name.a.ssl.keystore.location", SET, "/x"), name="1"),
        ResourceChanges(
            resource_type=ResourceType.GROUP,
            resource_name="g",
            changes=[SettingChange("consumer.session.timeout.ms", SET, "50000")],
        ),
    )
    assert image.cluster_settings() == {"max.connections": "5"}
    assert image.broker_settings(1) == {"listener.name.a.ssl.keystore.location": "/x"}
    assert image.group_settings("g") == {"consumer.session.timeout.ms": "50000"}


@pytest.mark.parametrize("name", ["1", ""])
def test_an_unknown_broker_setting_is_stored_as_in_kafka(name: str) -> None:
    image = image_of()
    (result,) = alter(image, broker(SettingChange("a.plugins.setting", SET, "x"), name=name))
    assert (result.error, image.configs[ResourceType.BROKER, name]) == (
        ErrorCode.NONE,
        {"a.plugins.setting": "x"},
    )
    (result,) = alter(image, broker(SettingChange("a.plugins.setting", DELETE), name=name))
    assert (result.error, image.configs.get((ResourceType.BROKER, name), {})) == (ErrorCode.NONE, {})


def test_settings_stored_by_another_version_do_not_block_other_changes() -> None:
    image = image_of()
    commit(
        image,
        [
            ConfigRecord(
                resource_type=ResourceType.BROKER, resource_name="1", name="num.partitions", value="3"
            )
        ],
    )
    (result,) = alter(image, broker(SettingChange("max.connections", SET, "5"), name="1"))
    assert result.error is ErrorCode.NONE


def test_a_group_setting_outside_the_brokers_bounds_is_refused() -> None:
    change = SettingChange("consumer.session.timeout.ms", SET, "70000")
    resource = ResourceChanges(resource_type=ResourceType.GROUP, resource_name="g", changes=[change])
    records, (result,) = decide_incremental_alter_configs(image_of(), BrokerConfig(), [resource])
    assert (records, result.error) == ([], ErrorCode.INVALID_CONFIG)


def test_a_brokers_list_is_appended_to_by_the_brokers_own_table() -> None:
    image = image_of()
    (result,) = alter(image, broker(SettingChange("ssl.enabled.protocols", SUBTRACT, "TLSv1.2"), name="1"))
    assert result.error is ErrorCode.NONE
    assert image.broker_settings(1) == {"ssl.enabled.protocols": "TLSv1.3"}


def test_another_brokers_settings_are_not_checked_against_those_of_this_one() -> None:
    image = image_of(brokers=2)
    change = SettingChange("listeners", SET, "EXTRA://h:1")
    (result,) = alter(image, broker(change, name="2"))
    assert result.error is ErrorCode.NONE
