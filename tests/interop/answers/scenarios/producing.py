"""Produce: refusals, and how each version reports them."""

import time
from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import make_topic, records

_VERSIONS = (3, 5, 7, 8, 9, 11, 12, 13)


def ask_all(asker: Asker) -> None:
    ids = {
        "produced": make_topic(asker, "produced"),
        "keyed": make_topic(asker, "keyed", cleanup_policy="compact"),
        "small": make_topic(asker, "small", max_message_bytes="200"),
        "stamped": make_topic(asker, "stamped", message_timestamp_type="LogAppendTime"),
        "timely": make_topic(
            asker,
            "timely",
            message_timestamp_before_max_ms="1000",
            message_timestamp_after_max_ms="1000",
        ),
    }
    now_ms = int(time.time() * 1000)
    good = records()
    broken = bytearray(good)
    broken[-1] ^= 1
    old_format = bytearray(good)
    old_format[16] = 1
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "good": ("produced", {}),
        "unknown partition": ("produced", {"index": 9}),
        "two batches": ("produced", {"records": good + good}),
        "no batch": ("produced", {"records": b""}),
        "bad CRC": ("produced", {"records": bytes(broken)}),
        "magic 1": ("produced", {"records": bytes(old_format)}),
        "cut off": ("produced", {"records": good[:-5]}),
        "without a key": ("keyed", {"records": records(key=None)}),
        "too large": ("small", {"records": records(size=500)}),
        "stamped": ("stamped", {}),
        "too old": ("timely", {"records": records(first_ms=now_ms - 100_000)}),
        "too new": ("timely", {"records": records(first_ms=now_ms + 100_000)}),
    }

    def ask(label: str, version: int, topic: str, part: dict[str, Any], acks: int = -1) -> None:
        named = {"topic_id": ids.get(topic, b"\x05" * 16)} if version >= 13 else {"name": topic}
        data = [{**named, "partition_data": [{"index": 0, "records": good, **part}]}]
        asker.ask(label, "Produce", version, acks=acks, timeout_ms=5000, topic_data=data)

    for version in _VERSIONS:
        for label, (topic, part) in asked.items():
            ask(label, version, topic, part)
        ask("unknown topic", version, "nobody", {})
        ask("to the leader", version, "produced", {}, acks=1)
        ask("acks 9", version, "produced", {}, acks=9)
        asker.ask("nothing", "Produce", version, acks=-1, timeout_ms=5000, topic_data=[])
