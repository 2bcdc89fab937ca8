"""The replacement of testcontainers, used as in the documentation of the original."""

import pytest
from confluent_kafka.admin import AdminClient

from penstock.testcontainers import KafkaContainer, settings_of


def test_the_container_is_used_like_the_original() -> None:
    container = (
        KafkaContainer("confluentinc/cp-kafka:7.6.0", port=9093)
        .with_kraft()
        .with_cluster_id("MkU3OEVBNTcwNTJENDM2Qk")
        .with_name("kafka")
        .with_network_aliases("kafka")
        .with_env("KAFKA_NUM_PARTITIONS", "3")
    )
    with container as kafka:
        server = kafka.get_bootstrap_server()
        assert server == f"{kafka.get_container_host_ip()}:{kafka.get_exposed_port(kafka.port)}"
        assert kafka.broker.create_topic("orders").partitions == 3
        assert len(AdminClient({"bootstrap.servers": server}).list_topics(timeout=10).brokers) == 1


def test_the_container_can_be_started_and_stopped_without_a_with_statement() -> None:
    kafka = KafkaContainer()
    assert kafka.start() is kafka
    port = kafka.get_exposed_port(9093)
    kafka.stop()
    kafka.stop()
    with pytest.raises(RuntimeError, match="not running"):
        kafka.get_bootstrap_server()
    again = KafkaContainer().with_bind_ports(9093, port).start()
    assert again.get_exposed_port(9093) == port
    again.stop()


def test_operations_that_need_a_real_container_raise_an_error() -> None:
    with pytest.raises(NotImplementedError, match="no container"):
        KafkaContainer().get_wrapped_container()
    with pytest.raises(NotImplementedError, match="no container"):
        KafkaContainer().exec("ls")


def test_environment_variables_of_kafka_images_become_settings() -> None:
    variables = {
        "KAFKA_NUM_PARTITIONS": "3",
        "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9093",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:9093",
        "KAFKA_BROKER_ID": "7",
        "KAFKA_LOG_DIRS": "/var/lib/kafka",
        "KAFKA_HEAP_OPTS": "-Xmx1g",
        "NUM_PARTITIONS": "4",
    }
    assert settings_of(variables) == {"num.partitions": "3"}
