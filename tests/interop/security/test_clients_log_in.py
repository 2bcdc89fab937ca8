"""Unmodified clients over TLS and with every login they have; and what they say when they are not let in."""

import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.interop.security.clients import PassThrough
from tests.interop.security.conftest import MECHANISMS, PASSWORD, House, changed
from tests.interop.security.doors import Refused
from tests.support.certificates import authority

CLIENTS = ("confluent-kafka", "aiokafka", "kafka-python", "kafkajs")
DOORS = [
    ("SSL", ""),
    ("MUTUAL", ""),
    *(("SASL_PLAINTEXT", mechanism) for mechanism in MECHANISMS),
    ("SASL_SSL", "SCRAM-SHA-256"),
]


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize(("listener", "mechanism"), DOORS)
def test_a_client_that_shows_what_is_asked_for_sends_and_reads(
    house: House, passers: dict[str, PassThrough], name: str, listener: str, mechanism: str
) -> None:
    value = f"{name} {listener} {mechanism}".encode()
    assert passers[name](house.door(listener, mechanism), house.new_topic(), value) == value


def test_a_client_whose_login_runs_out_renews_it_and_loses_nothing(house: House) -> None:
    door = house.door("SHORT", "SCRAM-SHA-256")
    topic = house.new_topic()
    heard: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": door.bootstrap,
            "security.protocol": door.protocol,
            "sasl.mechanism": door.mechanism,
            "sasl.username": door.user,
            "sasl.password": door.password,
            "linger.ms": 0,
            "log_level": 0,
            "error_cb": lambda error: heard.append(error.str()),
        }
    )
    delivered: list[object] = []
    ends = time.monotonic() + 1.8  # the first login has run out by then
    while time.monotonic() < ends:
        producer.produce(topic, b"x", on_delivery=lambda error, _message: delivered.append(error))
        assert producer.flush(10) == 0
    assert set(delivered) == {None}
    assert heard == []


def refusal(house: House, passer: PassThrough, **changes: object) -> str:
    """What a client says at a door that does not open for it; nothing of what it sent gets through."""
    listener = str(changes.pop("listener", "SASL_PLAINTEXT"))
    mechanism = str(changes.pop("mechanism", ""))
    topic = house.new_topic()
    with pytest.raises(Refused) as refused:
        passer(changed(house.door(listener, mechanism), **changes), topic, b"let me in")
    consumer = Consumer({"bootstrap.servers": house.broker.bootstrap, "group.id": "g", "log_level": 0})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), 10) == (0, 0)
    consumer.close()
    return str(refused.value)


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_told_and_lets_nothing_through(
    house: House, passers: dict[str, PassThrough], name: str, mechanism: str
) -> None:
    said = refusal(house, passers[name], mechanism=mechanism, password="wrong")
    assert "authentication" in said.lower()


@pytest.mark.parametrize("name", CLIENTS)
def test_an_expired_token_is_told_and_lets_nothing_through(
    house: House, passers: dict[str, PassThrough], name: str
) -> None:
    said = refusal(house, passers[name], mechanism="OAUTHBEARER", token=house.token(expires_in_s=-60))
    assert "invalid_token" in said or "authentication" in said.lower()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_broker_of_an_unknown_authority_is_not_talked_to(
    house: House, passers: dict[str, PassThrough], name: str
) -> None:
    other = authority("Somebody else").write_certificate(house.directory / "other-ca.pem")
    said = refusal(house, passers[name], listener="SSL", authority=other)
    assert "certificate" in said.lower()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_without_the_certificate_that_is_asked_for_is_not_let_in(
    house: House, passers: dict[str, PassThrough], name: str
) -> None:
    refusal(house, passers[name], listener="MUTUAL", certificate=None)


def test_nothing_secret_is_in_the_brokers_log(house: House) -> None:
    logged = house.broker.log_tail(10_000_000)
    lines = [
        line for line in logged.splitlines() if not line.startswith("--- ")
    ]  # the command, told by the test
    assert any("failed to log in" in line for line in lines)
    for secret in (PASSWORD, "wrong", house.token()[:40]):
        assert not [line for line in lines if secret in line]
