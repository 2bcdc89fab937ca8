import pytest

from penstock.cluster.controller.session_timing import heartbeat_interval_ms, session_timeout_ms
from penstock.config.broker import BrokerConfig


@pytest.mark.parametrize(
    ("settings", "is_kafka", "interval_ms", "timeout_ms"),
    [
        ({}, False, 400, 2000),
        ({}, True, 2000, 9000),
        ({"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "3000"}, False, 500, 3000),
        ({"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "3000"}, True, 500, 3000),
    ],
)
def test_a_broker_of_kafka_has_kafkas_session_unless_the_settings_say_otherwise(
    settings: dict[str, str], is_kafka: bool, interval_ms: int, timeout_ms: int
) -> None:
    config = BrokerConfig(settings)
    assert heartbeat_interval_ms(config, is_kafka=is_kafka) == interval_ms
    assert session_timeout_ms(config, is_kafka=is_kafka) == timeout_ms
