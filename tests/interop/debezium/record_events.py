"""Record the events of a run, for tests without Debezium: `python -m tests.interop.debezium.record_events [FORM…]`.

Writes `tests/spark/decode/debezium/recorded/<form>.jsonl.xz`: one JSON object for each record, with topic, offset and
the bytes of key and value in base64, and for Avro the schemas of the registry as `schemas.json`.
"""

import base64
import json
import lzma
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.interop.debezium import shop
from tests.interop.debezium.processes import await_that, running_connect, running_postgres, running_registry
from tests.support.broker import BrokerProcess

RECORDED = Path(__file__).parents[2] / "spark" / "decode" / "debezium" / "recorded"
_HEARTBEAT = "__debezium-heartbeat.shop"
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_AVRO = "io.apicurio.registry.utils.converter.AvroConverter"


def json_converter(*, schemas: bool) -> dict[str, str]:
    return {
        f"{part}.converter{setting}": value
        for part in ("key", "value")
        for setting, value in (("", _JSON), (".schemas.enable", str(schemas).lower()))
    }


def avro_converter(registry: str) -> dict[str, str]:
    settings = {
        "": _AVRO,
        ".apicurio.registry.url": registry.replace("/apis/ccompat/v7", "/apis/registry/v2"),
        ".apicurio.registry.auto-register": "true",
        ".apicurio.registry.find-latest": "true",
        ".apicurio.registry.as-confluent": "true",
        ".apicurio.registry.headers.enabled": "false",
        ".apicurio.registry.use-id": "contentId",
    }
    return {f"{part}.converter{name}": value for part in ("key", "value") for name, value in settings.items()}


def main() -> int:
    RECORDED.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for form in ("json", "json_schemas"):
            if sys.argv[1:] and form not in sys.argv[1:]:
                continue
            converter = json_converter(schemas=form == "json_schemas")
            _write(form, _record(root / form, converter))
        with running_registry(root / "registry") as registry:
            _write("avro", _record(root / "avro", avro_converter(registry)))
            _write_schemas(registry)
    return 0


def _record(root: Path, converter: Mapping[str, str]) -> list[dict[str, Any]]:
    root.mkdir()
    broker = BrokerProcess(root / "broker").start()
    try:
        with running_postgres() as postgres:
            postgres.execute(shop.CREATE)
            connector = {"provide.transaction.metadata": "true", "heartbeat.interval.ms": "1000"}
            with running_connect(root / "connect", broker.bootstrap, postgres, converter, **connector):
                changes = Changes(broker.bootstrap)
                # customers, everything, full_identity: 6 rows are in the snapshot
                await_that(lambda: changes.count(shop.TABLES) >= 6)
                for stage, count in zip(shop.STAGES, (21, 24, 26), strict=True):
                    postgres.execute(stage)
                    await_that(lambda count=count: changes.count((*shop.TABLES, "late")) >= count)
                await_that(lambda: changes.count_of(_HEARTBEAT) >= 1)
                return list(changes.records())
    finally:
        broker.stop()


class Changes:
    def __init__(self, bootstrap: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "group.id": "recording", "enable.auto.commit": False}
        self._consumer = Consumer(settings)

    def count(self, tables: tuple[str, ...]) -> int:
        return sum(self.count_of(f"shop.public.{table}") for table in tables)

    def count_of(self, topic: str) -> int:
        partitions = self._consumer.list_topics(timeout=10).topics
        if topic not in partitions:
            return 0
        return sum(
            self._consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=10)[1]
            for each in partitions[topic].partitions
        )

    def records(self) -> Iterator[dict[str, Any]]:
        """Return all records of all topics; tombstones and transaction topics too."""
        for topic in sorted(self._consumer.list_topics(timeout=10).topics):
            if not topic.startswith(("shop.", _HEARTBEAT)):
                continue
            count = self.count_of(topic)
            self._consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
            for message in self._consumer.consume(count, timeout=30):
                yield {
                    "topic": topic,
                    "offset": message.offset(),
                    "timestamp": message.timestamp()[1],
                    "key": _text(message.key()),
                    "value": _text(message.value()),
                }


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _write(form: str, records: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(each) + "\n" for each in records)
    (RECORDED / f"{form}.jsonl.xz").write_bytes(lzma.compress(text.encode(), preset=9))
    print(f"recorded {len(records)} records as {form}")


def _write_schemas(registry: str) -> None:
    """Write the schemas by the ids in the records."""
    import urllib.request

    found = {}
    with lzma.open(RECORDED / "avro.jsonl.xz", "rt") as file:
        for line in file:
            for part in ("key", "value"):
                data = json.loads(line)[part]
                if data is not None:
                    found[int.from_bytes(base64.b64decode(data)[1:5], "big")] = ""
    for schema_id in found:
        with urllib.request.urlopen(f"{registry}/schemas/ids/{schema_id}", timeout=10) as response:
            found[schema_id] = json.load(response)["schema"]
    (RECORDED / "schemas.json.xz").write_bytes(lzma.compress(json.dumps(found).encode(), preset=9))


if __name__ == "__main__":
    sys.exit(main())
