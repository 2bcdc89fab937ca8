import asyncio
import uuid
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.client.aio import ClientSettings
from penstock.console.api.pipelines import pipeline_and_query
from penstock.console.app import ConsoleSettings, routes
from tests.support.broker import BrokerProcess

TIMEOUT_S = 20


@pytest.mark.parametrize(
    ("group", "found"),
    [
        ("penstock-pipeline.payments.totals", ("payments", "totals")),
        ("penstock-pipeline.payments.dead-letters.orders", ("payments", "dead-letters.orders")),
        ("penstock-pipeline.eu.payments.totals", ("eu.payments", "totals")),
        ("penstock-pipeline.payments", None),
        ("penstock-pipeline..totals", None),
        ("billing", None),
    ],
)
def test_the_name_of_a_group_gives_its_pipeline_and_query(group: str, found: tuple[str, str] | None) -> None:
    assert pipeline_and_query(group, ["payments", "eu.payments", "eu"]) == found


def pipeline_in_the_console(broker: BrokerProcess, name: str) -> dict[str, Any]:
    async def visit() -> dict[str, Any]:
        app = web.Application()
        settings = ClientSettings.from_properties({"bootstrap.servers": broker.bootstrap})
        routes(app, ConsoleSettings(connection=settings, needs_login=False))
        async with TestClient(TestServer(app)) as browser:
            pipelines = (await (await browser.get("/console/api/pipelines")).json())["pipelines"]
        (found,) = [each for each in pipelines if each["name"] == name]
        return dict(found)

    return asyncio.run(visit())


def test_transaction_markers_and_aborted_records_are_not_dead_letters(
    shared_broker: BrokerProcess,
) -> None:
    name = f"shop-{uuid.uuid4().hex[:8]}"
    topic = f"{name}.dlq"
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap, "transactional.id": name})
    producer.init_transactions(TIMEOUT_S)
    for number in range(5):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(topic, b"letter", partition=number % 2)
        if number == 4:
            producer.flush(TIMEOUT_S)
            producer.abort_transaction(TIMEOUT_S)
        else:
            producer.commit_transaction(TIMEOUT_S)

    found = pipeline_in_the_console(shared_broker, name)

    assert found["deadLetters"] == {"topic": topic, "count": 12, "isExact": True}


def test_the_lag_of_a_query_that_has_committed_nothing_is_unknown(shared_broker: BrokerProcess) -> None:
    name = f"shop-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_S)
    group = f"penstock-pipeline.{name}.table"
    settings = {"bootstrap.servers": shared_broker.bootstrap, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(settings)
    consumer.subscribe([name])
    while not consumer.assignment():
        consumer.poll(0.05)

    (query,) = pipeline_in_the_console(shared_broker, name)["queries"]
    assert query["lag"] is None

    consumer.commit(offsets=[TopicPartition(name, 0, 0)], asynchronous=False)
    (query,) = pipeline_in_the_console(shared_broker, name)["queries"]
    assert query["lag"] == 0
    consumer.close()
