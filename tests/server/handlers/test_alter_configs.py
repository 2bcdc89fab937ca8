"""AlterConfigs and IncrementalAlterConfigs in every version. The rules themselves are tested with the controller."""

import logging
from pathlib import Path
from random import Random

import pytest

from penstock.protocol.messages import alter_configs as whole
from penstock.protocol.messages import incremental_alter_configs as incremental
from penstock.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from penstock_simulation.disk import FaultyDisk
from tests.server.live import Client, code, one, running_broker, unique_name, versions

VERSIONS = versions(whole.AlterConfigsRequest)
INCREMENTAL_VERSIONS = versions(incremental.IncrementalAlterConfigsRequest)
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)

Change = tuple[str, int, str | None]


async def replace(
    client: Client,
    kind: int,
    name: str,
    configs: dict[str, str | None],
    version: int = 2,
    *,
    trial: bool = False,
) -> str:
    resource = whole.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[whole.AlterableConfig(name=n, value=v) for n, v in configs.items()],
    )
    request = whole.AlterConfigsRequest(resources=[resource], validate_only=trial)
    answer = one((await client.send(request, version)).responses)
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    assert bool(answer.error_message) == bool(answer.error_code)
    return code(answer.error_code)


async def change(
    client: Client, kind: int, name: str, *changes: Change, version: int = 1, trial: bool = False
) -> str:
    resource = incremental.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[incremental.AlterableConfig(name=n, config_operation=op, value=v) for n, op, v in changes],
    )
    request = incremental.IncrementalAlterConfigsRequest(resources=[resource], validate_only=trial)
    answer = one((await client.send(request, version)).responses)
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return code(answer.error_code)


async def own_settings(client: Client, kind: int, name: str) -> dict[str, str | None]:
    """What the resource sets itself: sources of topics, brokers, cluster defaults and groups.

    But for the default that every new cluster has.
    """
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    result = one((await client.send(DescribeConfigsRequest(resources=[resource]))).results)
    given = {c.name: (c.value, c.config_source) for c in result.configs if c.config_source in (1, 2, 3, 8)}
    return {n: value for n, (value, _) in given.items() if given[n] != ("1", 3) or n != "min.insync.replicas"}


@pytest.mark.parametrize("version", VERSIONS)
async def test_all_settings_are_replaced(client: Client, version: int) -> None:
    topic = await client.create_topic(configs={"retention.ms": "5000", "segment.ms": "6000"})
    assert await replace(client, TOPIC, topic.name, {"retention.ms": "7000"}, version) == "NONE"
    assert await own_settings(client, TOPIC, topic.name) == {"retention.ms": "7000"}
    assert await replace(client, TOPIC, topic.name, {}, version) == "NONE"
    assert await own_settings(client, TOPIC, topic.name) == {}


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
async def test_single_settings_are_changed(client: Client, version: int) -> None:
    topic = await client.create_topic(configs={"retention.ms": "5000", "segment.ms": "6000"})
    assert (
        await change(
            client,
            TOPIC,
            topic.name,
            ("retention.ms", DELETE, None),
            ("flush.ms", SET, "10"),
            ("cleanup.policy", APPEND, "compact"),
            version=version,
        )
        == "NONE"
    )
    assert await own_settings(client, TOPIC, topic.name) == {
        "segment.ms": "6000",
        "flush.ms": "10",
        "cleanup.policy": "delete,compact",
    }
    assert await change(client, TOPIC, topic.name, ("cleanup.policy", SUBTRACT, "delete")) == "NONE"
    assert (await own_settings(client, TOPIC, topic.name))["cleanup.policy"] == "compact"


async def test_validate_only_changes_nothing(client: Client) -> None:
    topic = await client.create_topic()
    assert await replace(client, TOPIC, topic.name, {"retention.ms": "1"}, trial=True) == "NONE"
    assert await change(client, TOPIC, topic.name, ("retention.ms", SET, "1"), trial=True) == "NONE"
    assert await change(client, TOPIC, topic.name, ("retention.ms", SET, "x"), trial=True) == "INVALID_CONFIG"
    assert await own_settings(client, TOPIC, topic.name) == {}


async def test_groups_have_settings_too(client: Client) -> None:
    group = unique_name()
    assert await change(client, GROUP, group, ("consumer.session.timeout.ms", SET, "50000")) == "NONE"
    assert await own_settings(client, GROUP, group) == {"consumer.session.timeout.ms": "50000"}


async def test_a_log_level_is_changed_beside_settings_and_not_stored_with_them(client: Client) -> None:
    name = f"penstock.{unique_name()}"
    logger = logging.getLogger(name)
    topic = await client.create_topic()
    wanted = [
        (LOGGER, "1", name, "ERROR"),
        (TOPIC, topic.name, "retention.ms", "1"),
        (LOGGER, "2", name, "DEBUG"),
        (TOPIC, topic.name + "x", "retention.ms", "1"),
    ]
    resources = [
        incremental.AlterConfigsResource(
            resource_type=kind,
            resource_name=whose,
            configs=[incremental.AlterableConfig(name=n, config_operation=SET, value=value)],
        )
        for kind, whose, n, value in wanted
    ]
    response = await client.send(incremental.IncrementalAlterConfigsRequest(resources=resources))
    assert [(r.resource_type, r.resource_name) for r in response.responses] == [w[:2] for w in wanted]
    assert [code(r.error_code) for r in response.responses] == [
        "NONE",
        "NONE",
        "INVALID_REQUEST",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    assert (logger.level, await own_settings(client, TOPIC, topic.name)) == (
        logging.ERROR,
        {"retention.ms": "1"},
    )
    assert await change(client, LOGGER, "1", (name, DELETE, None)) == "NONE"
    assert logger.level == logging.NOTSET
    assert await replace(client, LOGGER, "1", {name: "ERROR"}) == "INVALID_REQUEST"


async def test_a_log_level_without_value_or_named_twice_is_refused(client: Client) -> None:
    assert await change(client, LOGGER, "1", ("root", SET, None)) == "INVALID_REQUEST"
    twice = [("root", SET, "INFO"), ("root", SET, "INFO")]
    assert await change(client, LOGGER, "1", *twice) == "INVALID_REQUEST"


async def settings_of(client: Client, name: str, *keys: str) -> list[DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(resource_type=BROKER, resource_name=name, configuration_keys=[*keys])
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    found: list[DescribeConfigsResourceResult] = one((await client.send(request)).results).configs
    return found


@pytest.mark.parametrize("name", ["1", ""])
async def test_an_unknown_broker_setting_is_stored_and_listed_without_its_value(
    client: Client, name: str
) -> None:
    setting = f"a.plugins.{unique_name()}"
    assert await change(client, BROKER, name, (setting, SET, "secret"), trial=True) == "NONE"
    assert await settings_of(client, name, setting) == []
    assert await change(client, BROKER, name, (setting, SET, "secret")) == "NONE"
    source = 2 if name else 3
    (shown,) = await settings_of(client, name, setting)
    assert (shown.value, shown.config_source, shown.config_type) == (None, source, 0)
    assert (shown.read_only, shown.is_sensitive) == (True, True)
    assert [(each.name, each.value, each.source) for each in shown.synonyms] == [(setting, None, source)]
    assert await change(client, BROKER, name, (setting, DELETE, None)) == "NONE"
    assert await settings_of(client, name, setting) == []


async def test_an_unknown_setting_can_replace_all_settings_of_a_broker(client: Client) -> None:
    assert await change(client, BROKER, "1", ("max.connections", SET, "77")) == "NONE"
    assert await replace(client, BROKER, "1", {"a.plugins.setting": "x"}) == "NONE"
    assert [each.name for each in await settings_of(client, "1") if each.config_source == 2] == [
        "a.plugins.setting"
    ]
    assert await replace(client, BROKER, "1", {}) == "NONE"


@pytest.mark.parametrize("trial", [True, False])
async def test_the_setting_in_librdkafkas_test_0081_is_accepted(client: Client, trial: bool) -> None:
    change_of_it = ("sasl.kerberos.min.time.before.relogin", SET, "58000")
    assert await change(client, BROKER, "1", change_of_it, trial=trial) == "NONE"
    assert await change(client, BROKER, "1", (change_of_it[0], DELETE, None), trial=trial) == "NONE"


REFUSED: list[tuple[int, str, Change, str]] = [
    (TOPIC, "there", ("no.such.setting", SET, "1"), "INVALID_CONFIG"),
    (TOPIC, "there", ("retention.ms", SET, "soon"), "INVALID_CONFIG"),
    (TOPIC, "there", ("retention.ms", SET, None), "INVALID_REQUEST"),
    (TOPIC, "no-such-topic", ("retention.ms", SET, "1"), "UNKNOWN_TOPIC_OR_PARTITION"),
    (TOPIC, "white space", ("retention.ms", SET, "1"), "INVALID_TOPIC_EXCEPTION"),
    (TOPIC, "", ("retention.ms", SET, "1"), "INVALID_REQUEST"),
    (BROKER, "2", ("log.retention.ms", SET, "1"), "INVALID_REQUEST"),
    (BROKER, "one", ("log.retention.ms", SET, "1"), "INVALID_REQUEST"),
    (BROKER, "1", ("node.id", SET, "2"), "INVALID_REQUEST"),
    (BROKER, "1", ("advertised.listeners", SET, "PLAINTEXT://127.0.0.1:1"), "INVALID_REQUEST"),
    (BROKER, "1", ("ssl.keystore.location", SET, "/x"), "INVALID_REQUEST"),
    (BROKER, "", ("ssl.client.auth", SET, "none"), "INVALID_REQUEST"),
    (BROKER, "", ("listener.name.a.ssl.keystore.location", SET, "/x"), "INVALID_REQUEST"),
    (BROKER, "1", ("log.retention.ms", SET, "soon"), "INVALID_REQUEST"),
    (GROUP, "", ("consumer.session.timeout.ms", SET, "50000"), "INVALID_REQUEST"),
    (GROUP, "g", ("consumer.session.timeout.ms", SET, "soon"), "INVALID_CONFIG"),
    (0, "x", ("retention.ms", SET, "1"), "INVALID_REQUEST"),
    (99, "x", ("retention.ms", SET, "1"), "INVALID_REQUEST"),
]


@pytest.mark.parametrize("refused", REFUSED, ids=str)
async def test_invalid_resources_and_values_are_refused(
    client: Client, refused: tuple[int, str, Change, str]
) -> None:
    kind, name, (setting, operation, value), expected = refused
    if name == "there":
        name = (await client.create_topic()).name
    assert await change(client, kind, name, (setting, operation, value)) == expected
    assert await replace(client, kind, name, {setting: value}) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("retention.ms", APPEND, "1")], "INVALID_CONFIG"),
        ([("retention.ms", SUBTRACT, "1")], "INVALID_CONFIG"),
        ([("retention.ms", 4, "1")], "INVALID_REQUEST"),
        ([("retention.ms", -1, "1")], "INVALID_REQUEST"),
        ([("retention.ms", SET, "1"), ("retention.ms", DELETE, None)], "INVALID_REQUEST"),
        ([("cleanup.policy", SET, "shred")], "INVALID_CONFIG"),
    ],
)
async def test_invalid_operations_are_refused(client: Client, changes: list[Change], expected: str) -> None:
    topic = await client.create_topic()
    assert await change(client, TOPIC, topic.name, *changes) == expected
    assert await own_settings(client, TOPIC, topic.name) == {}


async def test_a_resource_named_twice_is_refused_and_the_others_changed(client: Client) -> None:
    topic, other = await client.create_topic(), await client.create_topic()
    settings = [incremental.AlterableConfig(name="retention.ms", config_operation=SET, value="1")]
    resources = [
        incremental.AlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=settings)
        for name in (topic.name, other.name, topic.name)
    ]
    response = await client.send(incremental.IncrementalAlterConfigsRequest(resources=resources))
    codes = [code(r.error_code) for r in response.responses]
    assert codes == ["INVALID_REQUEST", "NONE", "INVALID_REQUEST"]


async def test_settings_survive_a_restart(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        assert await change(client, TOPIC, topic.name, ("retention.ms", SET, "5000")) == "NONE"
        assert await change(client, BROKER, "1", ("log.retention.ms", SET, "6000")) == "NONE"
        assert await change(client, BROKER, "", ("log.segment.bytes", SET, "7000000")) == "NONE"
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        assert await own_settings(client, TOPIC, topic.name) == {
            "retention.ms": "5000",
            "segment.bytes": "7000000",
        }
        assert (await own_settings(client, BROKER, "1"))["log.retention.ms"] == "6000"
        assert await own_settings(client, BROKER, "") == {"log.segment.bytes": "7000000"}


async def test_on_a_full_disk_the_change_fails_with_an_error(tmp_path: Path) -> None:
    disk = FaultyDisk(Random(1))
    async with running_broker(Path("/data"), files=disk) as live:
        client = await live.connect()
        topic = await client.create_topic()
        disk.set_capacity(0)
        assert await change(client, TOPIC, topic.name, ("retention.ms", SET, "1")) == "KAFKA_STORAGE_ERROR"
        disk.set_capacity(None)
        assert await own_settings(client, TOPIC, topic.name) == {}
        assert await change(client, TOPIC, topic.name, ("retention.ms", SET, "1")) == "NONE"
