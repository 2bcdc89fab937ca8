import pytest

from penstock.config.broker import BrokerConfig, load
from penstock.config.property import ConfigError


def test_an_ipv6_listener_loses_its_brackets() -> None:
    assert load(None, ["listeners=PLAINTEXT://[::1]:9092"]).listeners[0].host == "::1"


def test_the_inter_broker_listener_is_the_first_that_speaks_the_inter_broker_protocol() -> None:
    config = load(None, ["listeners=SSL://:1,PLAINTEXT://:2,SASL_SSL://:3"])
    assert config.inter_broker_listener == "PLAINTEXT"


def test_a_controllers_listener_speaks_plaintext_unless_the_map_is_set() -> None:
    static = {"listeners": "PLAINTEXT://:1,QUORUM://:2", "controller.listener.names": "QUORUM"}
    assert [each.security_protocol for each in BrokerConfig(static).listeners] == ["PLAINTEXT", "PLAINTEXT"]
    with pytest.raises(ConfigError, match="no security protocol is defined for listener QUORUM"):
        BrokerConfig({**static, "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"})
