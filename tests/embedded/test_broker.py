"""One broker inside the test's own process, as a user's suite has it."""

from confluent_kafka import Consumer, Producer

from penstock.embedded import Broker


def test_a_client_gets_back_what_it_sent() -> None:
    with Broker() as broker:
        servers = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
        producer = Producer(servers)
        producer.produce("orders", b"one")
        assert producer.flush(10) == 0
        consumer = Consumer({**servers, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        message = consumer.poll(10)
        assert message is not None
        assert message.value() == b"one"
        consumer.close()
