"""IncrementalAlterConfigs with all its operations, through the clients that have them."""

from collections.abc import Callable

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from kafka.admin import AlterConfigOp, KafkaAdminClient
from kafka.admin import ConfigResource as PythonConfigResource
from kafka.admin import ConfigResourceType as PythonConfigResourceType

from tests.interop.conftest import Clients
from tests.interop.model import CALL_TIMEOUT_S


def test_confluent_appends_subtracts_and_deletes_settings(
    clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(cleanup_policy="delete", retention_ms="5")
    admin = AdminClient({"bootstrap.servers": clients.bootstrap})

    def alter(setting: str, value: str | None, operation: AlterConfigOpType) -> None:
        entry = ConfigEntry(setting, value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        (future,) = admin.incremental_alter_configs([resource]).values()
        future.result(CALL_TIMEOUT_S)

    alter("cleanup.policy", "compact", AlterConfigOpType.APPEND)
    config = clients.setup_admin.topic_config(topic)
    assert set(config["cleanup.policy"].split(",")) == {"delete", "compact"}
    alter("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)
    assert clients.setup_admin.topic_config(topic)["cleanup.policy"] == "compact"
    alter("retention.ms", None, AlterConfigOpType.DELETE)
    assert clients.setup_admin.topic_config(topic)["retention.ms"] == "604800000"


def test_kafka_python_resets_a_setting(clients: Clients, new_topic: Callable[..., str]) -> None:
    topic = new_topic(retention_ms="5", segment_bytes="1048576")
    admin = KafkaAdminClient(bootstrap_servers=clients.bootstrap)
    try:
        resource = PythonConfigResource(
            PythonConfigResourceType.TOPIC, topic, {"retention.ms": (AlterConfigOp.DELETE, None)}
        )
        admin.alter_configs([resource])
    finally:
        admin.close()
    config = clients.setup_admin.topic_config(topic)
    assert config["retention.ms"] == "604800000"
    assert config["segment.bytes"] == "1048576"
