"""ListConfigResources in both versions, against a live broker."""

from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.server.live import Client, code, unique_name

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


async def resources(client: Client, types: list[int], version: int = 1) -> set[tuple[int, str]]:
    response = await client.send(ListConfigResourcesRequest(resource_types=types), version)
    assert response.error_code == 0
    return {(r.resource_type, r.resource_name) for r in response.config_resources}


async def test_the_requested_resource_types_are_listed(client: Client) -> None:
    topic = await client.create_topic()
    assert (TOPIC, topic.name) in await resources(client, [TOPIC])
    assert {kind for kind, _ in await resources(client, [TOPIC])} == {TOPIC}
    assert await resources(client, [BROKER, LOGGER]) == {(BROKER, "1"), (LOGGER, "1")}


async def test_an_empty_list_selects_all_types(client: Client) -> None:
    topic = await client.create_topic()
    assert {(TOPIC, topic.name), (BROKER, "1"), (LOGGER, "1")} <= await resources(client, [])


async def test_groups_with_settings_are_listed(client: Client) -> None:
    group = unique_name()
    assert (GROUP, group) not in await resources(client, [GROUP])
    change = AlterableConfig(name="consumer.session.timeout.ms", config_operation=0, value="50000")
    await client.send(
        IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=[change])]
        )
    )
    assert (GROUP, group) in await resources(client, [GROUP])


async def test_v0_lists_metrics_subscriptions_only(client: Client) -> None:
    assert await resources(client, [], version=0) == set()


async def test_unsupported_types_are_refused(client: Client) -> None:
    for types in ([0], [3], [TOPIC, 99]):
        response = await client.send(ListConfigResourcesRequest(resource_types=types), 1)
        assert (code(response.error_code), response.config_resources) == ("UNSUPPORTED_VERSION", [])
