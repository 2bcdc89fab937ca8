"""Clients that send metrics of their own (KIP-714)."""

import asyncio
import random
import re

import pytest
from confluent_kafka import Producer

from penstock.observability.otlp import NotOtlp
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.api_versions import ApiVersionsRequest
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.runtime.clock import ManualClock
from penstock.server.connections import Peer
from penstock.server.handlers import TELEMETRY
from penstock.server.metrics.scrape import scrape
from penstock.server.telemetry import Client, Telemetry, read_metrics
from tests.observability.test_otlp import FIXED, attribute, data, field
from tests.server.live import Client as Connection
from tests.server.live import Live, code

CLIENT_METRICS = 16
LABEL = r'(?!__)[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"'
PROMETHEUS_LINE = re.compile(rf"[a-zA-Z_]\w*\{{{LABEL}(?:,{LABEL})*\}} \S+", re.ASCII)
ZERO = bytes(16)
COUNT_OF_TWO = data(
    field(1, b"org.x.count") + field(7, field(1, FIXED + (2).to_bytes(8, "little")) + b"\x10\x01")
)


class Sender:
    """A client with a telemetry of its own, without a broker."""

    def __init__(self, **subscription: str) -> None:
        self.clock = ManualClock()
        self.telemetry = Telemetry(self.clock, random.Random(1))
        self.telemetry.follow({"s": {"metrics": "*", "interval.ms": "1000", **subscription}})
        self.peer = Peer("PLAINTEXT", "127.0.0.1", 40_000)

    def ask(self, instance_id: bytes = ZERO) -> Client:
        found = self.telemetry.subscribe(instance_id, self.peer, "app")
        assert isinstance(found, Client)
        return found

    def push(
        self,
        client: Client,
        metrics: bytes = COUNT_OF_TWO,
        *,
        subscription_id: int | None = None,
        is_terminating: bool = False,
        codec: int = 0,
    ) -> str:
        found = self.telemetry.begin_push(
            self.peer,
            "app",
            instance_id=client.instance_id,
            subscription_id=client.subscription_id if subscription_id is None else subscription_id,
            is_terminating=is_terminating,
            codec=codec,
            size_bytes=len(metrics),
        )
        if isinstance(found, ErrorCode):
            return found.name
        try:
            self.telemetry.keep(found, read_metrics(codec, metrics))
        except (NotOtlp, ProtocolError):
            return "INVALID_RECORD"
        return "NONE"

    def values(self) -> list[tuple[str, float]]:
        return [(name, value) for _, (name, _), _, value in self.telemetry.series()]


def test_deltas_are_summed() -> None:
    sender = Sender()
    client = sender.ask()
    for _ in range(3):
        assert sender.push(client) == "NONE"
        sender.clock.advance(1000)
    assert sender.values() == [("org.x.count", 6.0)]


def test_an_early_push_is_throttled_except_for_the_terminating_one() -> None:
    sender = Sender()
    client = sender.ask()
    assert sender.push(client) == "NONE"
    assert (
        sender.telemetry.subscribe(client.instance_id, sender.peer, "app")
        is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    )
    sender.clock.advance(500)
    assert sender.push(client) == "THROTTLING_QUOTA_EXCEEDED"
    assert sender.push(client, is_terminating=True) == "NONE"
    assert sender.push(client) == "INVALID_REQUEST", "it has said goodbye"


def test_a_changed_subscription_applies_to_the_next_request() -> None:
    sender = Sender()
    client = sender.ask()
    before = client.subscription_id
    sender.telemetry.follow({"s": {"metrics": "org.x", "interval.ms": "2000"}})
    sender.clock.advance(10)
    client = sender.ask(client.instance_id)
    assert (client.metrics, client.interval_ms) == (("org.x",), 2000)
    assert client.subscription_id != before
    assert sender.push(client, subscription_id=before) == "UNKNOWN_SUBSCRIPTION_ID"


@pytest.mark.parametrize(
    ("match", "is_chosen"),
    [("client_id=app", True), ("client_id=ap", False), ("client_source_address=127.*,client_id=a.*", True)],
)
def test_subscriptions_select_clients_by_patterns(match: str, is_chosen: bool) -> None:
    client = Sender(match=match).ask()
    assert client.metrics == (("*",) if is_chosen else ())


def test_malformed_metrics_are_refused() -> None:
    sender = Sender()
    client = sender.ask()
    assert sender.push(client, b"\x0a\x05abc") == "INVALID_RECORD"
    sender.clock.advance(1000)
    assert sender.push(client, codec=9) == "UNSUPPORTED_COMPRESSION_TYPE"
    sender.clock.advance(1000)
    assert sender.push(client, b"x", codec=4) == "INVALID_RECORD"


def test_metrics_of_a_silent_client_expire() -> None:
    sender = Sender()
    sender.push(sender.ask())
    sender.clock.advance(60_001)
    assert sender.values() == []


def gauge(name: bytes, *attributes: tuple[str, str]) -> bytes:
    return field(1, name) + field(5, field(1, b"".join(attribute(7, *each) for each in attributes)))


def test_the_metrics_of_clients_are_bounded_and_the_newest_are_kept() -> None:
    sender = Sender()
    for number in range(1, 41):
        metrics = data(*(gauge(b"%d" % n, ("pad", "x" * 2000)) for n in range(500)))
        client = sender.ask(number.to_bytes(16))
        assert sender.push(client, metrics) == "NONE"
    series = list(sender.telemetry.series())
    assert 5_000 < len(series) < 10_000
    assert sum(len(text) for _, (_, pairs), _, _ in series for _, text in pairs) < 16 * 1024 * 1024
    assert series[-1][0].instance_id == (40).to_bytes(16)


def test_a_long_client_id_is_not_repeated_with_each_value() -> None:
    sender = Sender()
    client = sender.telemetry.subscribe(ZERO, sender.peer, "x" * 30_000)
    assert isinstance(client, Client)
    assert len(client.client_id) == 255


def test_a_megabyte_of_empty_messages_is_refused_early() -> None:
    sender = Sender()
    nothing = data(b"\x0a\x00" * 500_000)
    assert sender.push(sender.ask(), nothing) == "INVALID_RECORD"


async def test_names_chosen_by_clients_cannot_break_a_scrape(live: Live) -> None:
    telemetry = live.services.telemetry
    client = telemetry.subscribe(ZERO, Peer("PLAINTEXT", "127.0.0.1", 1), 'a"\nb')
    assert isinstance(client, Client)
    names = ("", "1st", "__name__", 'x="\n', "job")
    total = field(1, b"x") + field(7, field(1, FIXED + bytes(8)))
    metrics = data(gauge(b'y\n"z', *((name, 'v"\n\\') for name in names)), gauge(b"x_total"), total)
    telemetry.keep(client, read_metrics(0, metrics))
    body = "".join([piece async for piece in scrape(live.services)])
    (line,) = (line for line in body.splitlines() if line.startswith("penstock_client_y__z{"))
    assert PROMETHEUS_LINE.fullmatch(line)
    assert 'client_id="a\\"\\nb"' in line
    assert body.count("# TYPE penstock_client_x_total ") == 1


async def set_subscription(client: Connection, **settings: str | None) -> str:
    configs = [
        AlterableConfig(name=name.replace("_", "."), config_operation=int(value is None), value=value)
        for name, value in settings.items()
    ]
    resource = AlterConfigsResource(resource_type=CLIENT_METRICS, resource_name="all", configs=configs)
    response = await client.send(IncrementalAlterConfigsRequest(resources=[resource]))
    return code(response.responses[0].error_code)


async def test_metrics_of_a_real_client_reach_prometheus(live: Live, client: Connection) -> None:
    topic = await client.create_topic()
    hello = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    before = await client.send(hello)
    assert await set_subscription(client, metrics="*", interval_ms="200") == "NONE"
    after = await client.send(hello)
    shown = {each.api_key for each in after.api_keys} - {each.api_key for each in before.api_keys}
    assert shown == set(TELEMETRY), "clients are not bothered before somebody wants their metrics"
    producer = Producer({"bootstrap.servers": f"{live.host}:{live.port}", "client.id": "talkative"})
    producer.produce(topic.name, b"x")
    body = ""
    while 'client_id="talkative"' not in body:
        await asyncio.to_thread(producer.poll, 0.05)
        body = "".join([piece async for piece in scrape(live.services)])
    await asyncio.to_thread(producer.flush)
    assert await set_subscription(client, metrics=None, interval_ms=None) == "NONE"
    assert "_total{" in body


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"interval_ms": "99"}, "INVALID_REQUEST"),
        ({"interval_ms": "often"}, "INVALID_CONFIG"),
        ({"match": "shoe_size=9"}, "INVALID_CONFIG"),
        ({"match": "client_id=("}, "INVALID_CONFIG"),
        ({"x": "1"}, "INVALID_REQUEST"),
    ],
)
async def test_an_invalid_subscription_is_refused_with_kafkas_error_codes(
    client: Connection, settings: dict[str, str], expected: str
) -> None:
    assert await set_subscription(client, **settings) == expected
