"""Two clusters, the second of which mirrors the first; what an operator does, and what may be compared."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient
from penstock.client.metadata import TopicPartition
from penstock.client.settings import ClientSettings
from penstock.protocol.messages import fetch
from penstock.protocol.records.batch import iter_batches
from tests.cli.conftest import call_command

WAIT_S: Final = 60.0
_POLL_S: Final = 0.05
_HAS_IDS_FROM: Final = 13

T = TypeVar("T")


def await_value(find: Callable[[], T | None], what: str, timeout_s: float = WAIT_S) -> T:
    """Poll, because brokers send no notifications."""
    deadline = time.monotonic() + timeout_s
    while (found := find()) is None:
        assert time.monotonic() < deadline, what
        time.sleep(_POLL_S)
    return found


def eventually(is_so: Callable[[], bool], what: str, timeout_s: float = WAIT_S) -> None:
    await_value(lambda: True if is_so() else None, what, timeout_s)


class Operator:
    """Runs `penstock mirror` against one cluster."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def run(self, *arguments: str) -> str:
        done = call_command("mirror", *arguments, "--bootstrap-server", self.bootstrap)
        assert done.returncode == 0, done
        return done.stdout

    def fail(self, *arguments: str) -> str:
        """Run a command that must fail with one line; returns it."""
        done = call_command("mirror", *arguments, "--bootstrap-server", self.bootstrap)
        assert done.returncode == 1, done
        assert done.stderr.count("\n") == 1, done
        return done.stderr

    def create(self, source: str, topics: str = ".*", *options: str, name: str = "m") -> str:
        return self.run("create", name, "--from", source, "--topics", topics, *options)

    def describe(self, name: str = "m") -> dict[str, Any]:
        described: dict[str, Any] = json.loads(self.run("describe", name, "--json"))
        return described

    def await_level(self, partitions: int, name: str = "m") -> dict[str, Any]:
        """Wait until that many partitions are copied and have no lag."""

        def find() -> dict[str, Any] | None:
            described = self.describe(name)
            lags = [each["lag"] for each in described["partitions"]]
            return described if len(lags) == partitions and set(lags) <= {0} else None

        return await_value(find, f"{name} is not level: {self.describe(name)}")


class Reader:
    """Reads partitions byte for byte, as the brokers return them."""

    def __init__(self, bootstrap: str) -> None:
        settings = ClientSettings.from_properties({"bootstrap.servers": bootstrap, "client.id": "reader"})
        self._client = BlockingClient(settings)

    def close(self) -> None:
        self._client.close()

    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """The log start offset and the high watermark."""
        where = TopicPartition(topic, partition)
        found = [self._client.list_offsets({where: each})[where].offset for each in (EARLIEST, LATEST)]
        return found[0], found[1]

    def read(self, topic: str, partition: int = 0) -> list[bytes]:
        """All batches."""
        offset, end = self.offsets(topic, partition)
        batches: list[bytes] = []
        while offset < end:
            records = bytes(self._fetch(topic, partition, offset).records or b"")
            for position, header in iter_batches(records):
                if header.next_offset > offset:
                    batches.append(records[position : position + header.size_bytes])
                    offset = header.next_offset
        return batches

    def aborted(self, topic: str, partition: int = 0) -> list[tuple[int, int]]:
        """The aborted transactions that a reader of committed records is given."""
        start, _ = self.offsets(topic, partition)
        found = self._fetch(topic, partition, start, isolation_level=1).aborted_transactions or []
        return sorted((each.producer_id, each.first_offset) for each in found)

    def _fetch(
        self, topic: str, partition: int, offset: int, *, isolation_level: int = 0
    ) -> fetch.PartitionData:
        topic_id = self._client.topics([topic])[topic].topic_id
        response = self._client.call_leader(
            TopicPartition(topic, partition),
            fetch.API_KEY,
            lambda version, _: _request(version, topic, topic_id, partition, offset, isolation_level),
            lambda r: int(r.error_code or r.responses[0].partitions[0].error_code),
        )
        data: fetch.PartitionData = response.responses[0].partitions[0]
        return data

    def digests(self, partitions: Mapping[str, int] | Iterable[tuple[str, int]]) -> dict[str, str]:
        """A hash of each partition; `partitions` are counts by topic."""
        counts = partitions.items() if isinstance(partitions, Mapping) else partitions
        return {
            f"{topic}-{number}": hashlib.sha256(b"".join(self.read(topic, number))).hexdigest()
            for topic, count in counts
            for number in range(count)
        }


def _request(
    version: int, topic: str, topic_id: bytes, partition: int, offset: int, isolation_level: int
) -> fetch.FetchRequest:
    wanted = fetch.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    has_ids = version >= _HAS_IDS_FROM
    return fetch.FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=1 << 24,
        isolation_level=isolation_level,
        topics=[
            fetch.FetchTopic(
                topic="" if has_ids else topic,
                topic_id=topic_id if has_ids else bytes(16),
                partitions=[wanted],
            )
        ],
    )


def log_files(data_dir: Path, topic: str) -> dict[str, bytes]:
    """The segments of a topic, by their path below the data directory."""
    return {
        path.relative_to(data_dir).as_posix(): path.read_bytes()
        for path in sorted(data_dir.glob(f"{topic}-*/*.log"))
    }
