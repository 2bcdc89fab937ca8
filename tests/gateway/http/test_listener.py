import pytest

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.gateway.http.listener import chosen_listener

PROTOCOLS = "A:PLAINTEXT,B:SASL_SSL,C:SSL,D:PLAINTEXT"


@pytest.mark.parametrize(
    ("listeners", "more", "expected"),
    [
        ("B://h:1,A://h:2", {}, "A"),
        ("C://h:1,B://h:2", {}, "B"),
        ("C://h:1", {}, "C"),
        ("D://h:1,A://h:2", {"controller.listener.names": "D"}, "A"),
        ("A://h:1,B://h:2", {"penstock.admin.kafka.listener": "b"}, "B"),
        ("A://127.0.0.1:1,B://h:2", {}, "A"),
        ("A://127.0.0.1:1,B://h:2", {"penstock.admin.listener": "0.0.0.0:1"}, "B"),
        ("A://10.0.0.5:1,B://h:2", {"penstock.admin.listener": "0.0.0.0:1"}, "B"),
        ("A://10.0.0.5:1,B://h:2", {"penstock.admin.listener": "10.0.0.5:1"}, "A"),
        ("A://localhost:1,D://:3,B://h:2", {"penstock.admin.listener": ":1"}, "D"),
        ("A://127.0.0.1:1", {"penstock.admin.listener": "0.0.0.0:1"}, "A"),
    ],
)
def test_requests_use_the_named_listener_or_the_one_with_the_weakest_requirements(
    listeners: str, more: dict[str, str], expected: str
) -> None:
    config = BrokerConfig(
        {
            "listeners": listeners,
            "listener.security.protocol.map": PROTOCOLS,
            "inter.broker.listener.name": listeners[0],
            **more,
        }
    )
    assert chosen_listener(config).name == expected


def test_an_unknown_listener_is_reported() -> None:
    config = BrokerConfig({"penstock.admin.kafka.listener": "nowhere"})
    with pytest.raises(ConfigError, match="nowhere, which is not among listeners"):
        chosen_listener(config)
