"""Which clients count as brokers on a listener with certificates or logins, over real connections."""

import ssl
from pathlib import Path

from penstock.client.connection import Connection
from penstock.client.settings import SaslSettings
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from penstock.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from penstock.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from penstock.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.server.live import Client, Live, code, running_broker
from tests.support.certificates import authority

AUTHORITY = authority()
REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED.name


async def heartbeat_error(client: Client) -> str:
    """The error code for a heartbeat of an unknown broker."""
    answer = await client.send(BrokerHeartbeatRequest(broker_id=77))
    await client.close()
    return code(answer.error_code)


async def changed(client: Client, user: str) -> str:
    """The error code for a change of a user's password."""
    change = ScramCredentialUpsertion(
        name=user, mechanism=1, iterations=4096, salt=b"salt", salted_password=bytes(32)
    )
    answer = await client.send(AlterUserScramCredentialsRequest(upsertions=[change]))
    return code(answer.results[0].error_code)


async def shown(live: Live, directory: Path, name: str, port: int | None = None) -> Client:
    """Connected with a certificate for a name."""
    context = ssl.create_default_context(cadata=AUTHORITY.pem)
    context.load_cert_chain(AUTHORITY.issue(name=name).write(directory / f"{name}.pem"))
    return Client(await Connection.open("127.0.0.1", port or live.port, tls=context))


async def test_with_mutual_tls_a_broker_has_this_brokers_name_or_is_a_super_user(tmp_path: Path) -> None:
    AUTHORITY.issue(name="broker").write(tmp_path / "broker.pem")
    settings = {
        "listeners": "SSL://127.0.0.1:0,CLIENTS://127.0.0.1:0",
        "listener.security.protocol.map": "SSL:SSL,CLIENTS:SSL",
        "inter.broker.listener.name": "SSL",
        "ssl.keystore.location": str(tmp_path / "broker.pem"),
        "ssl.truststore.certificates": AUTHORITY.pem,
        "ssl.client.auth": "required",
        "ssl.endpoint.identification.algorithm": "",
        "super.users": "User:CN=other-broker",
    }
    async with running_broker(tmp_path / "data", settings) as live:
        assert await heartbeat_error(await live.connect_as_broker()) != REFUSED
        assert await heartbeat_error(await shown(live, tmp_path, "broker")) != REFUSED
        assert await heartbeat_error(await shown(live, tmp_path, "other-broker")) != REFUSED
        assert await heartbeat_error(await shown(live, tmp_path, "client")) == REFUSED
        clients = live.broker.endpoints[1].port
        assert await heartbeat_error(await shown(live, tmp_path, "broker", clients)) == REFUSED


async def test_with_sasl_a_broker_has_this_brokers_user_or_is_a_super_user(tmp_path: Path) -> None:
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,CLIENTS://127.0.0.1:0",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CLIENTS:SASL_PLAINTEXT",
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.jaas.config": 'PlainLoginModule required username="broker" password="p" user_broker="p" user_next="p" '
        'user_alice="p";',
        "super.users": "User:next",
    }

    async def logged_in(user: str, port: int) -> Client:
        login = SaslSettings(mechanism="PLAIN", username=user, password="p")
        return Client(await Connection.open("127.0.0.1", port, sasl=login))

    async with running_broker(tmp_path, settings) as live:
        brokers, clients = (each.port for each in live.broker.endpoints)
        assert await heartbeat_error(await live.connect_as_broker()) != REFUSED
        assert await heartbeat_error(await logged_in("broker", brokers)) != REFUSED
        assert await heartbeat_error(await logged_in("next", brokers)) != REFUSED
        assert await heartbeat_error(await logged_in("alice", brokers)) == REFUSED
        assert await heartbeat_error(await logged_in("broker", clients)) == REFUSED
        alice, broker = await logged_in("alice", brokers), await logged_in("broker", brokers)
        assert await changed(alice, "broker") == await changed(alice, "next") == REFUSED
        assert await changed(alice, "bob") == await changed(broker, "broker") == "NONE"


async def test_a_listener_without_logins_refuses_the_mechanisms_of_clients(client: Client) -> None:
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        answer = await client.send(SaslHandshakeRequest(mechanism=mechanism))
        assert (code(answer.error_code), answer.mechanisms) == ("ILLEGAL_SASL_STATE", [])
    answer = await client.send(SaslHandshakeRequest(mechanism="PENSTOCK-CLUSTER"), 0)
    assert code(answer.error_code) == "ILLEGAL_SASL_STATE"


async def test_a_failed_authentication_leaves_the_identity_unchanged(client: Client) -> None:
    assert (await client.send(SaslHandshakeRequest(mechanism="PENSTOCK-CLUSTER"))).error_code == 0
    challenge = await client.send(SaslAuthenticateRequest(auth_bytes=bytes(32)))
    assert challenge.error_code == 0
    forged = await client.send(SaslAuthenticateRequest(auth_bytes=bytes(challenge.auth_bytes[32:64])))
    assert code(forged.error_code) == "SASL_AUTHENTICATION_FAILED"
    again = await client.send(SaslAuthenticateRequest(auth_bytes=bytes(32)))
    assert code(again.error_code) == "ILLEGAL_SASL_STATE"
    assert await heartbeat_error(client) == REFUSED
