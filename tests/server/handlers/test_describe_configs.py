"""DescribeConfigs in every version, against a live broker."""

from pathlib import Path

import pytest

from penstock.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from tests.server.live import Client, code, one, running_broker, unique_name, versions

VERSIONS = versions(DescribeConfigsRequest)
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


async def describe(
    client: Client,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = VERSIONS[-1],
    more: bool = False,
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    request = DescribeConfigsRequest(
        resources=[resource], include_synonyms=more, include_documentation=more and version >= 3
    )
    result: DescribeConfigsResult = one((await client.send(request, version)).results)
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_settings_of_a_topic_are_described(client: Client, version: int) -> None:
    topic = await client.create_topic(configs={"retention.ms": "5000"})
    result = await describe(client, TOPIC, topic.name, version=version)
    assert result.error_code == 0
    configs = {c.name: c for c in result.configs}
    assert len(configs) == len(result.configs) > 20
    own, inherited = configs["retention.ms"], configs["segment.bytes"]
    assert (own.value, own.config_source, own.read_only, own.is_sensitive) == ("5000", 1, False, False)
    assert (inherited.value, inherited.config_source) == ("1073741824", 5)
    assert (own.config_type == 5) == (version >= 3)
    assert own.synonyms == []
    assert not own.documentation


@pytest.mark.parametrize("version", VERSIONS)
async def test_synonyms_and_documentation_are_included_on_request(client: Client, version: int) -> None:
    topic = await client.create_topic(configs={"segment.bytes": "5000000"})
    config = one(
        (await describe(client, TOPIC, topic.name, ["segment.bytes"], version=version, more=True)).configs
    )
    assert [(s.name, s.value, s.source) for s in config.synonyms] == [
        ("segment.bytes", "5000000", 1),
        ("log.segment.bytes", "1073741824", 5),
    ]
    assert bool(config.documentation) == (version >= 3)


@pytest.mark.parametrize("version", VERSIONS)
async def test_only_the_named_settings_are_described(client: Client, version: int) -> None:
    topic = await client.create_topic()
    names = ["retention.ms", "cleanup.policy", "no.such.setting"]
    result = await describe(client, TOPIC, topic.name, names, version=version)
    assert {c.name for c in result.configs} == {"retention.ms", "cleanup.policy"}
    assert len((await describe(client, TOPIC, topic.name, [], version=version)).configs) > 20


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_settings_of_this_broker_are_described(tmp_path: Path, version: int) -> None:
    async with running_broker(tmp_path, {"num.partitions": "7"}) as live:
        client = await live.connect()
        configs = {c.name: c for c in (await describe(client, BROKER, "1", version=version)).configs}
        assert (configs["num.partitions"].value, configs["num.partitions"].config_source) == ("7", 4)
        assert configs["node.id"].read_only
        assert (configs["log.segment.bytes"].value, configs["log.segment.bytes"].config_source) == (
            "1073741824",
            5,
        )


@pytest.mark.parametrize(("settings", "value"), [({}, "1"), ({"min.insync.replicas": "2"}, "2")])
async def test_a_new_cluster_has_one_dynamic_default_as_in_kafka(
    tmp_path: Path, settings: dict[str, str], value: str
) -> None:
    """KIP-966: eligible leader replicas need it."""
    in_file = [("min.insync.replicas", value, 4)] if settings else []
    behind = [("min.insync.replicas", value, 3), *in_file, ("min.insync.replicas", "1", 5)]
    async with running_broker(tmp_path, settings) as live:
        client = await live.connect()
        topic = await client.create_topic()
        for kind, name in ((TOPIC, topic.name), (BROKER, "1"), (BROKER, "")):
            keys = ["min.insync.replicas"] if name else None
            (config,) = (await describe(client, kind, name, keys, more=True)).configs
            assert (config.name, config.value, config.config_source) == ("min.insync.replicas", value, 3)
            assert (config.read_only, config.is_sensitive, config.config_type) == (False, False, 3)
            shown = [(each.name, each.value, each.source) for each in config.synonyms]
            assert shown == (behind if name else behind[:1])


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_settings_of_a_group_are_described(client: Client, version: int) -> None:
    configs = {
        c.name: c.value for c in (await describe(client, GROUP, unique_name(), version=version)).configs
    }
    assert "consumer.session.timeout.ms" in configs


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_log_levels_of_this_broker_are_described(client: Client, version: int) -> None:
    configs = {c.name: c for c in (await describe(client, LOGGER, "1", version=version)).configs}
    dispatch = configs["penstock.server.dispatch.dispatcher"]
    assert (dispatch.value, dispatch.config_source) == (configs["root"].value, 6)
    assert (dispatch.read_only, dispatch.is_sensitive, dispatch.synonyms) == (False, False, [])
    asked_for = await describe(client, LOGGER, "1", ["root", "no.such.logger"], version=version)
    assert [c.name for c in asked_for.configs] == ["root"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_unknown_and_invalid_resources_are_refused(client: Client, version: int) -> None:
    for kind, name, expected in [
        (TOPIC, "no-such-topic", "UNKNOWN_TOPIC_OR_PARTITION"),
        (TOPIC, "white space", "INVALID_TOPIC_EXCEPTION"),
        (TOPIC, "", "INVALID_TOPIC_EXCEPTION"),
        (BROKER, "2", "INVALID_REQUEST"),
        (BROKER, "one", "INVALID_REQUEST"),
        (LOGGER, "", "INVALID_REQUEST"),
        (LOGGER, "2", "INVALID_REQUEST"),
        (METRICS, "", "INVALID_REQUEST"),
        (GROUP, "", "INVALID_REQUEST"),
        (0, "x", "INVALID_REQUEST"),
        (99, "x", "INVALID_REQUEST"),
    ]:
        result = await describe(client, kind, name, version=version)
        assert (code(result.error_code), result.configs) == (expected, []), (kind, name)
        assert result.error_message


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_invalid_resource_does_not_affect_the_others(client: Client, version: int) -> None:
    topic = await client.create_topic()
    resources = [
        DescribeConfigsResource(resource_type=TOPIC, resource_name=n, configuration_keys=None)
        for n in ("no-such-topic", topic.name)
    ]
    response = await client.send(DescribeConfigsRequest(resources=resources), version)
    assert [code(r.error_code) for r in response.results] == ["UNKNOWN_TOPIC_OR_PARTITION", "NONE"]


async def test_a_resource_named_many_times_is_described_once(client: Client) -> None:
    topic = await client.create_topic()
    resources = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        for kind, name, keys in (
            (TOPIC, topic.name, ["retention.ms"]),
            (GROUP, "g", []),
            (TOPIC, topic.name, []),
        )
    ]
    response = await client.send(DescribeConfigsRequest(resources=resources * 3))
    assert [(each.resource_type, len(each.configs) == 1) for each in response.results] == [
        (TOPIC, True),
        (GROUP, False),
    ]
