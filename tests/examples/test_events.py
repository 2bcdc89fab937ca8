"""The events that the scenarios send: what `make demo` and the documents say of them."""

import json
from decimal import Decimal

from examples.audit_ledger import events as ledger
from examples.iot_telemetry import events as telemetry
from examples.log_concentrator import events as logs
from examples.order_saga import events as saga
from examples.topology_audit import events as topology
from penstock.embedded import Cluster


def test_one_order_in_seven_is_declined_and_the_poison_pills_are_among_the_orders() -> None:
    values = [message.value or b"" for message in saga.messages(60)]
    orders = [json.loads(value)["payload"] for value in values if value not in saga.POISON]
    assert len(orders) == 61
    assert len({order["orderId"] for order in orders}) == 61
    assert sum(order["card"].endswith("0000") for order in orders) == saga.declined(60)
    assert [order["amount"] for order in orders if order["amount"] <= 0] == [0]
    assert sorted(set(values) & set(saga.POISON)) == sorted(saga.POISON)


def test_requests_that_fail_log_an_error_and_one_line_is_no_json() -> None:
    messages = list(logs.messages(40))
    lines = [json.loads(message.value or b"") for message in messages[:-1]]
    assert sorted(line["correlationId"] for line in lines if line["level"] == "ERROR") == logs.failures(40)
    assert {message.topic for message in messages} == set(logs.TOPICS)
    assert not (messages[-1].value or b"").startswith(b"{")


def test_the_sums_of_the_ledger_are_zero() -> None:
    balances = ledger.balances(ledger.history(120))
    assert sum(balances.values(), Decimal(0)) == 0
    assert len(balances) == 13
    assert len(list(ledger.messages(120))) == 12 + 120 + 2


def test_some_readings_are_late_and_some_impossible() -> None:
    readings = list(telemetry.readings(6000, late_every=101, nonsense_every=1999))
    assert sum(not reading.is_possible for reading in readings) == 3
    assert sum(reading.is_late for reading in readings) == 18
    assert any(reading.celsius > telemetry.ALARM_CELSIUS for reading in readings if reading.is_possible)
    *values, wrong = [json.loads(message.value or b"") for message in telemetry.as_messages(readings)]
    assert [value["celsius"] for value in values] == [reading.celsius for reading in readings]
    assert "at" not in wrong


def test_the_audit_lists_api_versions_and_internal_topics_only_on_request() -> None:
    with Cluster(2, topics={"orders": 1, "__internal": 1}) as cluster:
        found = list(topology.messages(cluster.bootstrap_servers))
        values = [json.loads(each.value or b"") for each in found]
        fetches = {each["broker"]: each for each in values if each.get("api") == "Fetch"}
        assert sorted(fetches) == [1, 2]
        assert all(0 <= each["first"] < each["last"] for each in fetches.values())
        assert {each["topic"] for each in values if "topic" in each} == {"orders"}
        asked = list(topology.messages(cluster.bootstrap_servers, with_internal=True))
        assert any(each.key == b"__internal" for each in asked)
