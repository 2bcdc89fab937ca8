"""How often a broker sends heartbeats, and after which silence it is fenced.

The defaults here are shorter than Kafka's, and a node of Apache Kafka sends heartbeats at its own interval. So its
session has Kafka's default timeout, unless this node's settings name one.
"""

from penstock.config.broker import BrokerConfig
from penstock.config.settings.replication import BROKER_HEARTBEAT_INTERVAL_MS, BROKER_SESSION_TIMEOUT_MS

_KAFKA_HEARTBEAT_INTERVAL_MS = 2_000
_KAFKA_SESSION_TIMEOUT_MS = 9_000


def heartbeat_interval_ms(config: BrokerConfig, *, is_kafka: bool) -> int:
    interval_ms = config[BROKER_HEARTBEAT_INTERVAL_MS]
    is_set = BROKER_HEARTBEAT_INTERVAL_MS.name in config.settings()
    return max(interval_ms, _KAFKA_HEARTBEAT_INTERVAL_MS) if is_kafka and not is_set else interval_ms


def session_timeout_ms(config: BrokerConfig, *, is_kafka: bool) -> int:
    """`is_kafka`: of a broker of Apache Kafka, or with a controller of Apache Kafka."""
    timeout_ms = config[BROKER_SESSION_TIMEOUT_MS]
    is_set = BROKER_SESSION_TIMEOUT_MS.name in config.settings()
    return max(timeout_ms, _KAFKA_SESSION_TIMEOUT_MS) if is_kafka and not is_set else timeout_ms
