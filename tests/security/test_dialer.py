import asyncio
import random
import struct
from pathlib import Path

import pytest

from penstock.client.connector import SocketConnector
from penstock.client.settings import SaslSettings
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError
from penstock.protocol.errors import ErrorCode
from penstock.protocol.headers import decode_request_header
from penstock.protocol.messages import api_versions, sasl_handshake
from penstock.runtime.clock import ManualClock
from penstock.security.cluster_secret import ClusterSecret
from penstock.security.dialer import Dialer, NotAMember
from penstock.security.mixed_cluster import MixedCluster
from tests.support.certificates import authority

AUTHORITY = authority()


def dialer(mixed: MixedCluster | None = None, /, **settings: str) -> Dialer:
    config = BrokerConfig({name.replace("_", "."): value for name, value in settings.items()})
    return Dialer(
        lambda: config,
        SocketConnector(),
        ManualClock(),
        ClusterSecret(random.Random(1)),
        client_id="broker",
        mixed=mixed,
    )


def test_brokers_send_no_credentials_on_a_plaintext_listener() -> None:
    assert dialer(listeners="PLAINTEXT://:9092").own_login is None


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", "PlainLoginModule"), ("SCRAM-SHA-512", "ScramLoginModule")]
)
def test_a_brokers_credentials_come_from_its_login_module(mechanism: str, module: str) -> None:
    made = dialer(
        listeners="SASL_PLAINTEXT://:9092",
        sasl_mechanism_inter_broker_protocol=mechanism,
        sasl_jaas_config=f'a.{module} required username="broker" password="b";',
    )
    assert made.own_login == SaslSettings(mechanism=mechanism, username="broker", password="b")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "sasl.mechanism.inter.broker.protocol is GSSAPI"),
        ({"sasl_mechanism_inter_broker_protocol": "OAUTHBEARER"}, "brokers log in to each other by one of"),
        ({"sasl_mechanism_inter_broker_protocol": "PLAIN"}, "has no credentials"),
        (
            {
                "sasl_mechanism_inter_broker_protocol": "PLAIN",
                "sasl_jaas_config": 'PlainLoginModule required username="b";',
            },
            "has no credentials",
        ),
    ],
)
def test_a_missing_setting_is_reported(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        dialer(listeners="SASL_PLAINTEXT://:9092", **settings)


def test_on_a_tls_listener_the_authority_must_be_readable(tmp_path: Path) -> None:
    listeners = "SSL://:9092"
    with pytest.raises(ConfigError, match="No such file"):
        dialer(listeners=listeners, ssl_truststore_location=str(tmp_path / "ca.pem"))
    AUTHORITY.write_certificate(tmp_path / "ca.pem")
    assert dialer(listeners=listeners, ssl_truststore_location=str(tmp_path / "ca.pem")).own_login is None


class KafkaNode:
    """Lists no API, and answers every SaslHandshake as Kafka does on a listener without logins."""

    def __init__(self) -> None:
        self._server: asyncio.Server

    async def __aenter__(self) -> Endpoint:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return Endpoint(name="PLAINTEXT", host="127.0.0.1", port=port, security_protocol="PLAINTEXT")

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            frame = await reader.readexactly(struct.unpack(">i", await reader.readexactly(4))[0])
            header, _ = decode_request_header(memoryview(frame))
            body = bytearray(struct.pack(">i", header.correlation_id))
            if header.api_key == api_versions.API_KEY:
                api_versions.encode_response_into(
                    body, api_versions.ApiVersionsResponse(), header.api_version
                )
            else:
                refusal = sasl_handshake.SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
                sasl_handshake.encode_response_into(body, refusal, header.api_version)
            writer.write(struct.pack(">i", len(body)) + body)


def test_a_node_of_kafka_is_used_without_a_proof_while_the_cluster_is_mixed() -> None:
    mixed = MixedCluster(is_mixed=True)
    made = dialer(mixed, listeners="PLAINTEXT://:9092")

    async def run() -> None:
        async with KafkaNode() as endpoint:
            connection = await made.open(endpoint)
            connection.abort()
            mixed.is_mixed = False
            with pytest.raises(NotAMember, match="is not Penstock"):
                await made.open(endpoint)

    asyncio.run(run())


def test_the_credentials_for_controllers_are_those_of_their_listener() -> None:
    settings = {
        "listeners": "PLAINTEXT://:9092",
        "controller_listener_names": "CONTROLLER",
        "listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    }
    with pytest.raises(ConfigError, match=r"sasl\.mechanism\.controller\.protocol is GSSAPI"):
        dialer(MixedCluster(is_mixed=True), **settings)
    assert dialer(**settings).own_login is None
