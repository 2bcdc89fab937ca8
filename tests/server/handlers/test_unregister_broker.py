"""UnregisterBroker, against a live broker."""

from pathlib import Path

from penstock.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from penstock.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.server.live import Client, Live, code, running_broker


async def test_an_unregistered_broker_cannot_be_unregistered(client: Client) -> None:
    response = await client.send(UnregisterBrokerRequest(broker_id=99), 0)
    assert code(response.error_code) == "BROKER_ID_NOT_REGISTERED"
    assert response.error_message == "Broker ID 99 is not currently registered"


async def test_a_running_broker_that_is_a_voter_cannot_be_unregistered(live: Live, client: Client) -> None:
    response = await client.send(UnregisterBrokerRequest(broker_id=live.services.node_id), 0)
    assert code(response.error_code) == "INVALID_REQUEST"
    assert live.services.node_id in live.services.controller.image.brokers


async def test_the_active_controller_cannot_be_unregistered_while_it_is_fenced(tmp_path: Path) -> None:
    """As it is while it starts again, or when its disk was too slow for its own heartbeats."""
    async with running_broker(tmp_path) as live:
        node_id, controller = live.services.node_id, live.services.controller
        assert live.broker._lifecycle is not None
        await live.broker._lifecycle.stop()
        fence = BrokerHeartbeatRequest(
            broker_id=node_id,
            broker_epoch=controller.image.brokers[node_id].epoch,
            current_metadata_offset=controller.image.offset,
            want_fence=True,
        )
        assert (await (await live.connect_as_broker()).send(fence, 1)).is_fenced
        client = await live.connect()
        response = await client.send(UnregisterBrokerRequest(broker_id=node_id), 0)
        assert code(response.error_code) == "INVALID_REQUEST"
        assert controller.image.brokers[node_id].fenced
