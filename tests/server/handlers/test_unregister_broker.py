"""UnregisterBroker, against a live broker."""

from penstock.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.server.live import Client, Live, code


async def test_a_broker_that_is_not_registered_cannot_be_forgotten(client: Client) -> None:
    response = await client.send(UnregisterBrokerRequest(broker_id=99), 0)
    assert code(response.error_code) == "BROKER_ID_NOT_REGISTERED"
    assert response.error_message == "Broker ID 99 is not currently registered"


async def test_a_broker_that_runs_and_has_a_vote_is_not_forgotten(live: Live, client: Client) -> None:
    response = await client.send(UnregisterBrokerRequest(broker_id=live.services.node_id), 0)
    assert code(response.error_code) == "INVALID_REQUEST"
    assert live.services.node_id in live.services.controller.image.brokers
