"""Each scenario from its events to its results, checked against what its events say."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from examples import results
from examples.audit_ledger import events as ledger
from examples.iot_telemetry import events as telemetry
from examples.log_concentrator import events as logs
from examples.messages import Message, make_topics, send
from examples.order_saga import events as saga
from examples.run import pipeline_file
from examples.topology_audit import events as topology
from penstock.embedded import Cluster
from penstock.spark.testing.broker import TestBroker
from penstock.spark.testing.kit import PipelineKit
from tests.support.plugin import running_broker

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]


class Stage(PipelineKit):
    """A kit with a scenario on it."""

    def play(self, scenario: ModuleType, messages: Iterable[Message], **environment: str) -> Counter[str]:
        """Send the messages, run the pipeline, and give the reasons of its dead letters."""
        make_topics(self.broker.bootstrap, scenario.TOPICS)
        send(self.broker.bootstrap, messages)
        return self.run_again(scenario, **environment)

    def run_again(self, scenario: ModuleType, **environment: str) -> Counter[str]:
        name = scenario.__name__.split(".")[1]
        self.run(str(pipeline_file(name)), environment=environment)
        return Counter(letter.error for letter in self.dead_letters(name.replace("_", "-")))

    def topic(self, name: str) -> list[Any]:
        return results.read_topic(self.broker.bootstrap, name)

    def rows(self, table: str) -> pd.DataFrame:
        return results.read_table(Path(self.path(f"lake/{table}")))

    def shown(self, scenario: str, capsys: pytest.CaptureFixture[str]) -> str:
        results.show(scenario, self.broker.bootstrap, Path(self.path("lake")))
        return capsys.readouterr().out


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The scenarios have topics of fixed names, so they have a broker of their own."""
    with running_broker(tmp_path_factory.mktemp("scenarios")) as broker:
        yield broker.bootstrap


@pytest.fixture
def stage(bootstrap: str, spark: SparkSession, tmp_path: Path) -> Stage:
    return Stage(TestBroker(bootstrap=bootstrap), spark, str(tmp_path))


def test_every_order_ends_paid_or_cancelled_and_no_order_twice(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    count = 60
    reasons = stage.play(saga, saga.messages(count))
    assert reasons == {
        "eventType: required, but missing; timestamp: required, but missing": 1,
        "invalid UTF-8 at byte 0": 1,
        "not JSON: expecting property name enclosed in double quotes at character 1": 1,
        "expectation broken: the amount is positive (payload.amount > 0)": 1,
    }

    def outcome() -> tuple[dict[str, str], list[str], list[str], int]:
        orders = stage.rows("order_outcomes")
        assert orders["orderId"].is_unique
        cancelled = sorted(event["payload"]["orderId"] for event in stage.topic("cancellations"))
        notified = sorted(event["correlationId"] for event in stage.topic("notifications"))
        assert notified == sorted(orders["correlationId"])
        return (
            dict(zip(orders["orderId"], orders["outcome"], strict=True)),
            cancelled,
            notified,
            len(stage.topic("payments")),
        )

    first = outcome()
    outcomes, cancelled, notified, payments = first
    assert sorted(outcomes) == sorted(f"ORD-{number + 101}" for number in range(count))
    assert set(outcomes.values()) == {"PaymentProcessed", "PaymentFailed"}
    assert cancelled == sorted(order for order, what in outcomes.items() if what == "PaymentFailed")
    assert len(cancelled) == saga.declined(count)
    assert len(notified) == payments == count

    assert stage.run_again(saga) == reasons
    assert outcome() == first
    assert f"│ PaymentFailed    │ {len(cancelled)} " in stage.shown("order_saga", capsys)


def test_an_error_is_reported_with_every_line_of_its_request(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = list(logs.messages(40))
    reasons = stage.play(logs, messages)
    assert reasons == {"not JSON: expecting value at character 0": 1}
    failing = set(logs.failures(40))
    assert len(failing) == 4
    lines = [json.loads(message.value or b"") for message in messages[:-1]]
    expected = sorted(
        (line["correlationId"], line["service"], line["level"], line["message"])
        for line in lines
        if line["correlationId"] in failing
    )
    traces = stage.rows("error_traces")
    found = traces[["correlationId", "service", "level", "message"]].itertuples(index=False, name=None)
    assert sorted(found) == expected
    assert set(traces["error"]) == {"connection pool exhausted"}
    assert sorted(error["correlationId"] for error in stage.topic("errors")) == sorted(failing)
    assert "4 errors, 20 lines that belong to them" in stage.shown("log_concentrator", capsys)


def test_rebuilt_balances_are_the_sum_of_the_events(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    reasons = stage.play(ledger, ledger.messages(120))
    positive, other = sorted(reasons.elements(), reverse=True)
    assert positive.startswith("expectation broken: money moves by a positive amount (")
    assert other.startswith("expectation broken: a transfer goes to another account (")
    expected = ledger.balances(ledger.history(120))

    def balances() -> dict[str, Decimal]:
        return {row["account"]: Decimal(str(row["balance"])) for row in stage.topic("balances")}

    def sums(postings: pd.DataFrame) -> dict[str, Decimal]:
        assert postings["amount"].sum() == 0
        return dict(postings.groupby("account")["amount"].sum())

    assert balances() == expected
    assert sums(stage.rows("postings")) == expected
    assert "postings add up to 0" in stage.shown("audit_ledger", capsys)

    replayed = Stage(stage.broker, stage.spark, stage.path("replayed"))
    replayed.run_again(ledger)
    assert balances() == expected
    assert sums(replayed.rows("postings")) == expected
    assert len(replayed.rows("postings")) == len(stage.rows("postings"))


def test_averages_exclude_late_readings_and_alarms_are_those_above_the_limit(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    count = 6000
    readings = list(telemetry.readings(count, late_every=101, nonsense_every=1999))
    possible = [reading for reading in readings if reading.is_possible]
    assert (len(possible), sum(reading.is_late for reading in readings)) == (count - 3, 18)

    reasons = stage.play(telemetry, telemetry.as_messages(readings), READINGS_PER_BATCH=str(count // 3 + 1))
    broken = "expectation broken: a temperature that exists (celsius BETWEEN -90 AND 150)"
    assert reasons.pop(broken) == 3
    (other,) = reasons.elements()
    assert other.startswith("at: required, but missing")

    alarms = Counter(
        (alarm["sensor"], dt.datetime.fromisoformat(alarm["at"]), alarm["celsius"])
        for alarm in stage.topic("alarms")
    )
    assert alarms == Counter(
        (each.sensor, each.at, each.celsius) for each in possible if each.celsius > telemetry.ALARM_CELSIUS
    )
    averages = stage.rows("averages")
    found: dict[tuple[str, dt.datetime], Any] = {
        (row["sensor"], row["window_start"].to_pydatetime()): (
            pytest.approx(row["mean"]),
            row["highest"],
            row["readings"],
        )
        for row in averages.to_dict("records")
    }
    assert len(found) == len(averages)
    assert found == averages_of([reading for reading in possible if not reading.is_late])
    assert "Alarms (topic alarms)" in stage.shown("iot_telemetry", capsys)
    assert Path(stage.path(results.PICTURE)).read_bytes().startswith(b"\x89PNG")


def averages_of(
    readings: list[telemetry.Reading],
) -> dict[tuple[str, dt.datetime], tuple[float, float, int]]:
    """The windows that the watermark has passed, worked out here."""
    watermark = max(reading.at for reading in readings) - dt.timedelta(seconds=30)
    windows: dict[tuple[str, dt.datetime], list[float]] = {}
    for reading in readings:
        last = reading.at.replace(second=reading.at.second // 20 * 20, microsecond=0)
        for earlier_s in (0, 20, 40):
            window = last - dt.timedelta(seconds=earlier_s)
            if window + dt.timedelta(minutes=1) <= watermark:
                windows.setdefault((reading.sensor, window), []).append(reading.celsius)
    return {key: (sum(each) / len(each), max(each), len(each)) for key, each in windows.items()}


def test_the_table_lists_leaders_and_warnings_list_under_replicated_partitions(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    make_topics(stage.broker.bootstrap, {"audited": 2})
    messages = list(topology.messages(stage.broker.bootstrap))
    checks = {
        name: [json.loads(m.value or b"") for m in messages if m.topic == name] for name in topology.TOPICS
    }
    partitions, apis = checks["topology"], checks["topology_apis"]
    assert [each["partition"] for each in partitions if each["topic"] == "audited"] == [0, 1]
    lacking = {**partitions[0], "topic": "lacking", "replicas": [1, 2, 3], "inSync": [1]}
    leaderless = {**partitions[0], "topic": "leaderless", "leader": -1}
    wrong = [Message("topology", json.dumps(each).encode()) for each in (lacking, leaderless)]
    assert stage.play(topology, [*messages, *wrong]) == {}
    table = stage.rows("topology")
    found = table[["topic", "partition", "leader", "missing"]].itertuples(index=False, name=None)
    assert sorted(found) == sorted(
        (each["topic"], each["partition"], each["leader"], len(each["replicas"]) - len(each["inSync"]))
        for each in [*partitions, lacking, leaderless]
    )
    warned = [warning["topic"] for warning in stage.topic("topology.warnings")]
    assert sorted(warned) == ["lacking", "leaderless"]
    versions = stage.rows("api_versions")[["broker", "api", "first", "last"]]
    assert sorted(versions.itertuples(index=False, name=None)) == sorted(
        (each["broker"], each["api"], each["first"], each["last"]) for each in apis
    )
    shown = stage.shown("topology_audit", capsys)
    assert "2 partitions lack replicas" in shown
    assert "API versions of each broker" in shown


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
