"""ACLs managed and obeyed by other clients, on a broker that allows all access to resources without ACLs."""

import itertools
from collections.abc import Iterator

import kafka.errors
import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kafka import KafkaProducer
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
)
from kafka.admin import ResourceType as PythonResourceType

from penstock.security.acl_authorizer import STANDARD_AUTHORIZER
from tests.interop.model import CALL_TIMEOUT_S
from tests.support.broker import BrokerProcess
from tests.support.plugin import running_broker

REFUSED = "TOPIC_AUTHORIZATION_FAILED"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "allow.everyone.if.no.acl.found": "true",
        "group.initial.rebalance.delay.ms": "0",
    }
    with running_broker(tmp_path_factory.mktemp("guarded"), settings) as broker:
        yield broker


@pytest.fixture
def admin(guarded: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": guarded.bootstrap})


@pytest.fixture
def topic(admin: AdminClient) -> str:
    name = f"acls-{next(_numbers)}-"
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(CALL_TIMEOUT_S)
    return name


def binding(
    topic: str, who: str, operation: AclOperation, pattern: ResourcePatternType = ResourcePatternType.LITERAL
) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC, topic, pattern, f"User:{who}", "*", operation, AclPermissionType.ALLOW
    )


def applying_to(topic: str) -> AclBindingFilter:
    return AclBindingFilter(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.MATCH,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def of_user(who: str) -> AclBindingFilter:
    return AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        f"User:{who}",
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def create(admin: AdminClient, *bindings: AclBinding) -> None:
    for future in admin.create_acls(list(bindings)).values():
        future.result(CALL_TIMEOUT_S)


def delete(admin: AdminClient, wanted: AclBindingFilter) -> list[AclBinding]:
    (future,) = admin.delete_acls([wanted]).values()
    return list(future.result(CALL_TIMEOUT_S))


def test_confluent_creates_describes_and_deletes_acls(admin: AdminClient, topic: str) -> None:
    bindings = {
        binding(topic, "alice", AclOperation.READ),
        binding(topic[:-1], "bob", AclOperation.WRITE, ResourcePatternType.PREFIXED),
    }
    create(admin, *bindings)
    assert set(admin.describe_acls(applying_to(topic)).result(CALL_TIMEOUT_S)) == bindings
    assert set(delete(admin, applying_to(topic))) == bindings
    assert admin.describe_acls(applying_to(topic)).result(CALL_TIMEOUT_S) == []
    cluster = AclBinding(
        ResourceType.BROKER,
        "another",
        ResourcePatternType.LITERAL,
        "User:alice",
        "*",
        AclOperation.ALL,
        AclPermissionType.ALLOW,
    )
    with pytest.raises(KafkaException) as refused:
        create(admin, cluster)
    assert "The only valid name for the CLUSTER resource is kafka-cluster" in refused.value.args[0].str()


def test_kafka_python_creates_describes_and_deletes_acls(guarded: BrokerProcess, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=guarded.bootstrap)
    pattern = ResourcePattern(PythonResourceType.TOPIC, topic, ACLResourcePatternType.PREFIXED)
    acl = ACL("User:alice", "10.0.0.1", ACLOperation.ALTER, ACLPermissionType.DENY, pattern)
    everything = ACLFilter(
        principal=None,
        host=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
        resource_pattern=ResourcePatternFilter(PythonResourceType.ANY, topic, ACLResourcePatternType.ANY),
    )
    try:
        assert admin.create_acls([acl]) == {"succeeded": [acl], "failed": []}
        assert admin.describe_acls(everything)[0] == [acl]
        ((_, deleted, error),) = admin.delete_acls([everything])
        assert (deleted, error) == ([acl], kafka.errors.NoError)
    finally:
        admin.close()


def produced(producer: Producer, topic: str) -> str | None:
    """The delivery error of one record."""
    errors = []
    producer.produce(topic, b"v", on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(CALL_TIMEOUT_S) == 0
    (error,) = errors
    return None if error is None else str(error.name())


def test_a_connected_producer_gets_a_clear_error_and_continues_when_it_is_allowed_again(
    guarded: BrokerProcess, admin: AdminClient, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": guarded.bootstrap, "linger.ms": 0})
    assert produced(producer, topic) is None
    create(admin, binding(topic, "alice", AclOperation.ALL))
    assert produced(producer, topic) == REFUSED
    create(admin, binding(topic, "ANONYMOUS", AclOperation.WRITE))
    producer.list_topics(
        topic, CALL_TIMEOUT_S
    )  # librdkafka caches a refusal until the next metadata response
    assert produced(producer, topic) is None
    delete(admin, of_user("ANONYMOUS"))
    assert produced(producer, topic) == REFUSED


def test_a_consumer_and_an_admin_client_without_permission_get_a_clear_error(
    guarded: BrokerProcess, admin: AdminClient, topic: str
) -> None:
    create(admin, binding(topic, "alice", AclOperation.ALL))
    with pytest.raises(KafkaException) as refused:
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(CALL_TIMEOUT_S)
    assert refused.value.args[0].name() == REFUSED
    assert topic not in admin.list_topics(timeout=CALL_TIMEOUT_S).topics
    consumer = Consumer({"bootstrap.servers": guarded.bootstrap, "group.id": topic})
    try:
        consumer.subscribe([topic])
        message = consumer.poll(CALL_TIMEOUT_S)
        assert message is not None
        assert message.error().name() == REFUSED
    finally:
        consumer.close()


def test_kafka_python_raises_a_refusal_by_its_name(
    guarded: BrokerProcess, admin: AdminClient, topic: str
) -> None:
    create(admin, binding(topic, "alice", AclOperation.ALL))
    producer = KafkaProducer(bootstrap_servers=guarded.bootstrap, max_block_ms=CALL_TIMEOUT_S * 1000)
    try:
        with pytest.raises(kafka.errors.TopicAuthorizationFailedError):
            producer.send(topic, b"v").get(CALL_TIMEOUT_S)
    finally:
        producer.close()
