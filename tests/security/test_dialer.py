import random
from pathlib import Path

import pytest

from penstock.client.connector import SocketConnector
from penstock.client.settings import SaslSettings
from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.runtime.clock import ManualClock
from penstock.security.cluster_secret import ClusterSecret
from penstock.security.dialer import Dialer
from tests.support.certificates import authority

AUTHORITY = authority()


def dialer(**settings: str) -> Dialer:
    config = BrokerConfig({name.replace("_", "."): value for name, value in settings.items()})
    return Dialer(
        lambda: config,
        SocketConnector(),
        ManualClock(),
        ClusterSecret(random.Random(1)),
        client_id="broker",
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
