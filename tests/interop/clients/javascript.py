"""kafkajs and @platformatic/kafka, each in a node process of its own.

The process (`js/<client>.js`) reads one JSON request a line and answers one JSON line; bytes travel as base64.
"""

import json
import queue
import subprocess
import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tests.interop.model import (
    CALL_TIMEOUT_S,
    CODECS,
    Cluster,
    Headers,
    Message,
    Received,
    RequestRefused,
)

_SCRIPTS = Path(__file__).parent.parent / "js"
_ANSWER_TIMEOUT_S = CALL_TIMEOUT_S + 10


class NodeProcess:
    """A client library in node, asked one thing at a time."""

    def __init__(self, node: str, script: str, bootstrap: str) -> None:
        self._process = subprocess.Popen(
            [node, str(_SCRIPTS / script), bootstrap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        assert self._process.stdout is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def _read(self, stdout: IO[str]) -> None:
        with stdout:
            for line in stdout:
                self._answers.put(line)
        self._answers.put(None)

    def ask(self, method: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"method": method, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._answers.get(timeout=_ANSWER_TIMEOUT_S)
        assert line is not None, f"node ended with code {self._process.wait(10)}"
        answer = json.loads(line)
        if "error" in answer:
            raise RequestRefused(answer["error"])
        return answer["result"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)


class JavaScriptClient:
    codecs = CODECS

    def __init__(self, name: str, process: NodeProcess) -> None:
        self.name = name
        self._process = process

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        partition: int = 0,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> None:
        self._process.ask(
            "produce",
            topic=topic,
            partition=partition,
            codec=codec,
            acks=acks,
            idempotent=idempotent,
            messages=[
                {
                    "key": _text(m.key),
                    "value": _text(m.value),
                    "headers": [[name, _text(value)] for name, value in m.headers],
                    "timestamp": m.timestamp_ms,
                }
                for m in messages
            ],
        )

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Received]:
        records = self._process.ask("consume", topic=topic, partition=partition, offset=offset, count=count)
        return [
            Received(
                int(r["offset"]),
                _bytes(r["key"]),
                _bytes(r["value"]),
                tuple((name, _bytes(value)) for name, value in r["headers"]),
                int(r["timestamp"]),
            )
            for r in records
        ]

    def writable(self, message: Message) -> Message | None:
        # Neither library can send a header without a value, nor the same header twice.
        headers = {name: value for name, value in message.headers if value is not None}
        return Message(message.key, message.value, tuple(headers.items()), message.timestamp_ms)

    def readable(self, headers: Headers) -> Headers:
        return headers

    def close(self) -> None:
        self._process.close()


class JavaScriptAdmin:
    def __init__(self, process: NodeProcess) -> None:
        self._process = process

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        self._process.ask("createTopic", topic=topic, partitions=partitions, config=dict(config))

    def topics(self) -> set[str]:
        return set(self._process.ask("topics"))

    def partition_count(self, topic: str) -> int:
        return int(self._process.ask("partitionCount", topic=topic))

    def create_partitions(self, topic: str, total: int) -> None:
        self._process.ask("createPartitions", topic=topic, total=total)

    def topic_config(self, topic: str) -> dict[str, str]:
        return dict(self._process.ask("topicConfig", topic=topic))

    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None:
        self._process.ask("setTopicConfig", topic=topic, config=dict(config))

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        self._process.ask("deleteRecords", topic=topic, partition=partition, offset=before_offset)

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        earliest, latest = self._process.ask("offsets", topic=topic, partition=partition)
        return int(earliest), int(latest)

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int:
        return int(self._process.ask("offsetAt", topic=topic, partition=partition, timestamp=timestamp_ms))

    def cluster(self) -> Cluster:
        found = self._process.ask("cluster")
        return Cluster(
            found["clusterId"], found["controllerId"], tuple((n, h, p) for n, h, p in found["brokers"])
        )

    def delete_topic(self, topic: str) -> None:
        self._process.ask("deleteTopic", topic=topic)


def _text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
