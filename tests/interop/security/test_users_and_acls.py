"""ACLs of logged-in users: unmodified clients over SASL, and a broker that allows nothing without an ACL."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AclBindingFilter, AclOperation, AclPermissionType, AdminClient, NewTopic
from confluent_kafka.admin import ResourcePatternType as Pattern
from confluent_kafka.admin import ResourceType as Resource

from penstock.cli.main import run
from penstock.security.acl_authorizer import STANDARD_AUTHORIZER
from tests.interop.security.clients import RoundTrip
from tests.interop.security.logins import Login, Refused
from tests.support.broker import BrokerProcess, free_port

TIMEOUT_S = 30.0
CLIENTS = ("confluent-kafka", "aiokafka", "kafka-python", "kafkajs")


class AclBroker:
    """A broker with two users: `admin`, who may do anything, and `alice`, who may do nothing yet."""

    def __init__(self, broker: BrokerProcess, port: int) -> None:
        self.broker = broker
        self.bootstrap = f"127.0.0.1:{port}"

    def settings(self, user: str, **more: object) -> dict[str, object]:
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": user,
            "sasl.password": f"{user}-secret",
            "log_level": 0,
            **{key.replace("_", "."): value for key, value in more.items()},
        }

    def login(self, user: str) -> Login:
        return Login(
            protocol="SASL_PLAINTEXT",
            bootstrap=self.bootstrap,
            authority=Path(),
            mechanism="PLAIN",
            user=user,
            password=f"{user}-secret",
        )

    def forget(self, topic: str) -> None:
        """Remove the ACLs of a topic."""
        everything = AclBindingFilter(
            Resource.TOPIC, topic, Pattern.LITERAL, None, None, AclOperation.ANY, AclPermissionType.ANY
        )
        admin = AdminClient(self.settings("admin"))
        admin.delete_acls([everything])[everything].result(TIMEOUT_S)

    def allow_alice(self, *options: str) -> None:
        """With the command, as `admin`."""
        login = ("security.protocol=SASL_PLAINTEXT", "sasl.mechanisms=PLAIN")
        user = ("sasl.username=admin", "sasl.password=admin-secret")
        client = [word for setting in (*login, *user) for word in ("-X", setting)]
        arguments = ["acl", "add", "--allow-principal", "User:alice", *options, *client]
        assert run([*arguments, "--bootstrap-server", self.bootstrap]) == 0


@pytest.fixture(scope="module")
def acl_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AclBroker]:
    plain, sasl = free_port(), free_port()
    listeners = f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl}"
    settings = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:admin",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.jaas.config": 'PlainLoginModule required user_admin="admin-secret" user_alice="alice-secret";',
        "inter.broker.listener.name": "PLAINTEXT",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
    }
    directory = tmp_path_factory.mktemp("acl_broker")
    broker = BrokerProcess(directory, port=plain, settings=settings, arguments=["--listen", listeners])
    broker.start()
    try:
        yield AclBroker(broker, sasl)
    finally:
        broker.stop()


def new_topic(acl_broker: AclBroker, name: str) -> str:
    admin = AdminClient(acl_broker.settings("admin"))
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_S)
    return name


def refusal(error: KafkaException) -> str:
    return str(error.args[0].name())


def in_a_transaction(acl_broker: AclBroker, topic: str) -> None:
    producer = Producer(acl_broker.settings("alice", transactional_id="alice-1"))
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    errors: list[KafkaError | None] = []
    producer.produce(topic, b"v", on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    if errors[0] is not None:
        raise KafkaException(errors[0])
    producer.commit_transaction(TIMEOUT_S)


def consumed(acl_broker: AclBroker, topic: str, group: str) -> bytes:
    """The first record that is read in the group; its offset is committed."""
    consumer = Consumer(
        acl_broker.settings("alice", group_id=group, auto_offset_reset="earliest", enable_auto_commit=False)
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        consumer.commit(message, asynchronous=False)
        (committed,) = consumer.committed([TopicPartition(topic, 0)], TIMEOUT_S)
        assert committed.offset == 1
        return bytes(message.value() or b"")
    finally:
        consumer.close()


def test_a_transactional_producer_needs_its_id_and_its_topic(acl_broker: AclBroker) -> None:
    topic = new_topic(acl_broker, "paid")
    with pytest.raises(KafkaException) as refused:
        in_a_transaction(acl_broker, topic)
    assert refusal(refused.value) == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    acl_broker.allow_alice("--operation", "write", "--transactional-id", "alice-1")
    with pytest.raises(KafkaException) as refused:
        in_a_transaction(acl_broker, topic)
    assert refusal(refused.value) == "TOPIC_AUTHORIZATION_FAILED"
    acl_broker.allow_alice("--producer", "--topic", topic)
    in_a_transaction(acl_broker, topic)


def test_a_consumer_needs_its_topic_and_its_group(acl_broker: AclBroker) -> None:
    topic = new_topic(acl_broker, "sent")
    producer = Producer(acl_broker.settings("admin"))
    producer.produce(topic, b"v")
    assert producer.flush(TIMEOUT_S) == 0
    with pytest.raises(KafkaException) as refused:
        consumed(acl_broker, topic, "readers")
    assert refusal(refused.value) in ("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED")
    acl_broker.allow_alice(
        "--consumer", "--topic", "se", "--group", "read", "--resource-pattern-type", "prefixed"
    )
    assert consumed(acl_broker, topic, "readers") == b"v"


def test_a_revoked_permission_applies_to_a_logged_in_client(acl_broker: AclBroker) -> None:
    topic = new_topic(acl_broker, "lent")
    acl_broker.allow_alice("--producer", "--topic", topic)
    producer = Producer(acl_broker.settings("alice", linger_ms=0))

    def outcome() -> str | None:
        errors: list[str | None] = []
        producer.produce(
            topic, b"v", on_delivery=lambda error, _message: errors.append(error and error.name())
        )
        assert producer.flush(TIMEOUT_S) == 0
        return errors[0]

    assert outcome() is None
    acl_broker.forget(topic)
    assert outcome() == "TOPIC_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_is_served_while_it_is_allowed_and_gets_a_clear_error_when_it_is_not(
    acl_broker: AclBroker, clients: dict[str, RoundTrip], name: str
) -> None:
    topic = new_topic(acl_broker, f"kept-{name}")
    acl_broker.allow_alice("--operation", "read", "--operation", "write", "--topic", topic, "--group", "*")
    assert clients[name](acl_broker.login("alice"), topic, b"v") == b"v"
    acl_broker.forget(topic)
    with pytest.raises(Refused) as refused:
        clients[name](acl_broker.login("alice"), topic, b"not this")
    assert "authoriz" in str(refused.value).lower()
    assert clients[name](acl_broker.login("admin"), topic, b"next") == b"next"
    consumer = Consumer(acl_broker.settings("admin", group_id="unused"))
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S) == (0, 2)
    consumer.close()


def test_a_client_without_a_login_is_anonymous(acl_broker: AclBroker) -> None:
    admin = AdminClient({"bootstrap.servers": acl_broker.broker.bootstrap, "log_level": 0})
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([NewTopic("mine", 1, 1)])["mine"].result(TIMEOUT_S)
    assert refusal(refused.value) == "TOPIC_AUTHORIZATION_FAILED"
    assert admin.list_topics(timeout=TIMEOUT_S).topics == {}
