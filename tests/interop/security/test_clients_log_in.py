"""Unmodified clients over TLS and with every SASL mechanism they have, and their errors when a login is refused."""

import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.interop.security.clients import RoundTrip
from tests.interop.security.conftest import MECHANISMS, PASSWORD, SecuredBroker, changed
from tests.interop.security.logins import Refused
from tests.support.certificates import authority

CLIENTS = ("confluent-kafka", "aiokafka", "kafka-python", "kafkajs")
LOGINS = [
    ("SSL", ""),
    ("MUTUAL", ""),
    *(("SASL_PLAINTEXT", mechanism) for mechanism in MECHANISMS),
    ("SASL_SSL", "SCRAM-SHA-256"),
]


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize(("listener", "mechanism"), LOGINS)
def test_a_client_with_valid_credentials_sends_and_reads(
    secured_broker: SecuredBroker, clients: dict[str, RoundTrip], name: str, listener: str, mechanism: str
) -> None:
    value = f"{name} {listener} {mechanism}".encode()
    assert (
        clients[name](secured_broker.login(listener, mechanism), secured_broker.new_topic(), value) == value
    )


def test_a_client_reauthenticates_before_its_login_expires_and_loses_nothing(
    secured_broker: SecuredBroker,
) -> None:
    login = secured_broker.login("SHORT", "SCRAM-SHA-256")
    topic = secured_broker.new_topic()
    errors: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": login.bootstrap,
            "security.protocol": login.protocol,
            "sasl.mechanism": login.mechanism,
            "sasl.username": login.user,
            "sasl.password": login.password,
            "linger.ms": 0,
            "log_level": 0,
            "error_cb": lambda error: errors.append(error.str()),
        }
    )
    delivered: list[object] = []
    ends = time.monotonic() + 1.8  # the first login has expired by then
    while time.monotonic() < ends:
        producer.produce(topic, b"x", on_delivery=lambda error, _message: delivered.append(error))
        assert producer.flush(10) == 0
    assert set(delivered) == {None}
    assert errors == []


def refusal(secured_broker: SecuredBroker, client: RoundTrip, **changes: object) -> str:
    """The error of a client with a refused login; none of its records is stored."""
    listener = str(changes.pop("listener", "SASL_PLAINTEXT"))
    mechanism = str(changes.pop("mechanism", ""))
    topic = secured_broker.new_topic()
    with pytest.raises(Refused) as refused:
        client(changed(secured_broker.login(listener, mechanism), **changes), topic, b"refused")
    consumer = Consumer(
        {"bootstrap.servers": secured_broker.broker.bootstrap, "group.id": "g", "log_level": 0}
    )
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), 10) == (0, 0)
    consumer.close()
    return str(refused.value)


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_reported_and_no_record_is_stored(
    secured_broker: SecuredBroker, clients: dict[str, RoundTrip], name: str, mechanism: str
) -> None:
    error = refusal(secured_broker, clients[name], mechanism=mechanism, password="wrong")
    assert "authentication" in error.lower()


@pytest.mark.parametrize("name", CLIENTS)
def test_an_expired_token_is_reported_and_no_record_is_stored(
    secured_broker: SecuredBroker, clients: dict[str, RoundTrip], name: str
) -> None:
    error = refusal(
        secured_broker, clients[name], mechanism="OAUTHBEARER", token=secured_broker.token(expires_in_s=-60)
    )
    assert "invalid_token" in error or "authentication" in error.lower()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_refuses_a_broker_of_an_unknown_authority(
    secured_broker: SecuredBroker, clients: dict[str, RoundTrip], name: str
) -> None:
    other = authority("Somebody else").write_certificate(secured_broker.directory / "other-ca.pem")
    error = refusal(secured_broker, clients[name], listener="SSL", authority=other)
    assert "certificate" in error.lower()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_without_the_required_certificate_is_refused(
    secured_broker: SecuredBroker, clients: dict[str, RoundTrip], name: str
) -> None:
    refusal(secured_broker, clients[name], listener="MUTUAL", certificate=None)


def test_nothing_secret_is_in_the_brokers_log(secured_broker: SecuredBroker) -> None:
    logged = secured_broker.broker.log_tail(10_000_000)
    lines = [
        line for line in logged.splitlines() if not line.startswith("--- ")
    ]  # the command line, written by the test
    assert any("Failed authentication" in line for line in lines)
    for secret in (PASSWORD, "wrong", secured_broker.token()[:40]):
        assert not [line for line in lines if secret in line]
