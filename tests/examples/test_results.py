"""What the scenarios show of their results, from tables and topics as the pipelines write them (test_cases.py)."""

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import deltalake
import pandas as pd
import pytest

from examples import results
from penstock.embedded import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


class Stage:
    def __init__(self, broker: Broker, lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.broker = broker
        self.lake = lake
        self._capsys = capsys

    def table(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        deltalake.write_deltalake(str(self.lake / name), pd.DataFrame(rows))

    def topic(self, name: str, values: Sequence[dict[str, Any]]) -> None:
        topic = self.broker.create_topic(name, 1)
        topic.produce(*[json.dumps(value).encode() for value in values])

    def shown(self, scenario: str) -> str:
        results.show(scenario, self.broker.bootstrap_servers, self.lake)
        return self._capsys.readouterr().out


@pytest.fixture
def stage(broker: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Stage:
    return Stage(broker, tmp_path / "lake", capsys)


def test_orders_are_shown_by_their_outcome(stage: Stage) -> None:
    outcomes = [("o1", "PaymentProcessed"), ("o2", "PaymentProcessed"), ("o3", "PaymentFailed")]
    stage.table(
        "order_outcomes", [{"orderId": order, "outcome": what, "amount": 1.5} for order, what in outcomes]
    )
    stage.topic("cancellations", [{"payload": {"orderId": "o3", "reason": "card declined"}}])
    stage.topic("notifications", [{"payload": {"customer": "Alice", "text": "paid"}}])
    shown = stage.shown("order_saga")
    assert "│ PaymentFailed    │ 1 " in shown
    assert "│ PaymentProcessed │ 2      │ 3.0 " in shown
    assert "card declined" in shown


def test_an_error_is_shown_with_the_lines_of_its_request(stage: Stage) -> None:
    line = {"correlationId": "r1", "at": dt.datetime(2026, 3, 1, 12), "service": "db", "level": "ERROR"}
    stage.table("error_traces", [{**line, "message": "pool exhausted"}, {**line, "message": "answered 503"}])
    stage.topic("errors", [{"correlationId": "r1"}])
    shown = stage.shown("log_concentrator")
    assert "1 errors, 2 lines that belong to them" in shown
    assert "The trace of r1" in shown


def test_the_last_balance_of_each_account_is_shown(stage: Stage) -> None:
    stage.topic("balances", [{"account": "A", "balance": 1}, {"account": "A", "balance": 7}])
    stage.table("postings", [{"amount": 7.0}, {"amount": -7.0}])
    shown = stage.shown("audit_ledger")
    assert "│ A       │ 7 " in shown
    assert "2 postings add up to 0" in shown


def test_averages_and_alarms_are_shown_and_drawn(stage: Stage) -> None:
    begin = dt.datetime(2026, 3, 1, 6, tzinfo=dt.UTC)
    window = {"window_start": begin, "window_end": begin + dt.timedelta(minutes=1), "highest": 99.0}
    stage.table(
        "averages",
        [{**window, "sensor": f"s{number}", "mean": 50.0 + number, "readings": 3} for number in (1, 2)],
    )
    stage.topic("alarms", [{"sensor": "s2", "at": begin.isoformat(), "celsius": 99.0}])
    shown = stage.shown("iot_telemetry")
    assert "2 averages" in shown
    assert "│ s2     │ 1 " in shown
    assert (stage.lake.parent / results.PICTURE).read_bytes().startswith(b"\x89PNG")


def test_leaders_and_api_versions_are_shown(stage: Stage) -> None:
    stage.table("topology", [{"topic": "orders", "partition": 0, "leader": 1, "missing": 2}])
    stage.table("api_versions", [{"broker": 1, "api": "Fetch", "first": 4, "last": 17}])
    stage.topic("topology.warnings", [{"topic": "orders"}])
    shown = stage.shown("topology_audit")
    assert "1 partitions lack replicas" in shown
    assert "API versions of each broker" in shown
