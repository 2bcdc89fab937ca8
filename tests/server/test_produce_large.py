"""Batches that take long to check are checked on a thread; other clients do not wait, and nothing overtakes them."""

import asyncio
import threading

from penstock.protocol.compression import Codec
from penstock.protocol.messages.api_versions import ApiVersionsRequest
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.messages.produce import ProduceResponse
from penstock.storage.log.append import EVENT_LOOP_BYTES_MAX
from tests.server.live import Client, Live, batch, code, produce_request, values_in

LARGE = bytes(EVENT_LOOP_BYTES_MAX)


async def test_a_batch_that_decompresses_to_many_bytes_is_stored(client: Client) -> None:
    topic = await client.create_topic()
    produced = await client.produce(topic, batch(LARGE, b"more", codec=Codec.ZSTD))
    assert (code(produced.error_code), produced.base_offset) == ("NONE", 0)
    assert values_in(await client.fetch(topic)) == [LARGE, b"more"]


async def test_later_requests_of_the_same_client_do_not_overtake_it(client: Client) -> None:
    topic = await client.create_topic()
    answers: list[ProduceResponse] = await asyncio.gather(
        client.send(produce_request(topic, {0: batch(LARGE, codec=Codec.GZIP)})),
        client.send(produce_request(topic, {0: batch(b"next")})),
    )
    assert [a.responses[0].partition_responses[0].base_offset for a in answers] == [0, 1]


async def test_other_clients_are_served_meanwhile(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    may_go_on = threading.Event()
    holding = live.services.checks.start(may_go_on.wait)
    produced = client.send(produce_request(topic, {0: batch(LARGE, codec=Codec.LZ4)}))
    other = await live.connect()
    answer = await other.send(ApiVersionsRequest(client_software_name="t", client_software_version="1"))
    assert (answer.error_code, produced.done()) == (0, False)
    may_go_on.set()
    response: ProduceResponse = await produced
    assert response.responses[0].partition_responses[0].error_code == 0
    await holding
    await other.close()


async def test_settings_changed_meanwhile_apply(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    may_go_on = threading.Event()
    holding = live.services.checks.start(may_go_on.wait)
    produced = client.send(produce_request(topic, {0: batch(LARGE, codec=Codec.LZ4)}))
    other = await live.connect()
    change = AlterableConfig(name="max.message.bytes", config_operation=0, value="100")
    resource = AlterConfigsResource(resource_type=2, resource_name=topic.name, configs=[change])
    await other.send(IncrementalAlterConfigsRequest(resources=[resource]))
    may_go_on.set()
    response: ProduceResponse = await produced
    assert code(response.responses[0].partition_responses[0].error_code) == "MESSAGE_TOO_LARGE"
    await holding
    await other.close()


async def test_a_batch_that_decompresses_beyond_the_limit_is_refused(client: Client) -> None:
    topic = await client.create_topic()
    produced = await client.produce(topic, batch(bytes(33 * 1024 * 1024), codec=Codec.ZSTD))
    assert code(produced.error_code) == "MESSAGE_TOO_LARGE"
    assert "expand" in (produced.error_message or "")
