"""Popular clients, each against an embedded broker and an embedded cluster."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from faststream.confluent import KafkaBroker as ConfluentApp
from faststream.kafka import KafkaBroker as AioKafkaApp
from kafka import KafkaConsumer, KafkaProducer

from penstock.embedded import Broker, Cluster, Topic

Served = Broker | Cluster


@pytest.fixture(scope="module", params=[Broker, Cluster])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    running: Served
    with request.param() as running:
        yield running


@pytest.fixture
def topic(served: Served, request: pytest.FixtureRequest) -> Topic:
    return served.create_topic(f"{request.function.__name__}", 1)


def test_confluent_kafka(served: Served, topic: Topic) -> None:
    servers = {"bootstrap.servers": served.bootstrap_servers, "log_level": 0}
    producer = Producer({**servers, "enable.idempotence": True})
    for number in range(10):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(20) == 0
    consumer = Consumer({**servers, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    got = [message.value() for message in consumer.consume(10, timeout=20)]
    consumer.commit(asynchronous=False)
    consumer.close()
    assert got == [b"%d" % number for number in range(10)]


def test_aiokafka(served: Served, topic: Topic) -> None:
    async def use() -> list[bytes]:
        producer = AIOKafkaProducer(bootstrap_servers=served.bootstrap_servers)
        await producer.start()
        await producer.send_and_wait(topic, b"one")
        await producer.stop()
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=served.bootstrap_servers,
            group_id=topic,
            auto_offset_reset="earliest",
        )
        await consumer.start()
        message = await asyncio.wait_for(consumer.getone(), 20)
        await consumer.commit()
        await consumer.stop()
        return [message.value]

    assert asyncio.run(use()) == [b"one"]


def test_kafka_python(served: Served, topic: Topic) -> None:
    producer = KafkaProducer(bootstrap_servers=served.bootstrap_servers)
    producer.send(topic, b"one").get(timeout=20)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=served.bootstrap_servers,
        group_id=topic,
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    message = next(consumer)
    consumer.commit()
    consumer.close()
    assert message.value == b"one"


@pytest.mark.parametrize("app_class", [AioKafkaApp, ConfluentApp])
def test_an_application_of_faststream(
    served: Served, topic: Topic, app_class: type[AioKafkaApp] | type[ConfluentApp]
) -> None:
    """It consumes numbers from one topic and produces their doubles to another."""
    numbers = served.create_topic(f"{topic}-{app_class.__module__}-numbers", 1)
    doubles = served.create_topic(f"{topic}-{app_class.__module__}-doubles", 1)

    async def double(number: int) -> int:
        return 2 * number

    async def use() -> None:
        app: Any = app_class(served.bootstrap_servers.split(","), graceful_timeout=1)
        app.publisher(doubles)(
            app.subscriber(numbers, group_id=numbers, auto_offset_reset="earliest")(double)
        )
        async with app:
            await app.start()
            await app.publish(21, topic=numbers)
            found = await doubles.await_records(1, timeout_s=30)
        assert [each.value for each in found] == [b"42"]

    asyncio.run(use())
