"""Commits the offsets that a query has consumed to a consumer group, so that `group lag` shows pipelines.

Nothing reads these offsets back: a query resumes from its checkpoint. So a separate thread commits the latest ones
only, and a broker that does not respond delays nothing else.
"""

import threading
from collections.abc import Callable, Mapping

import msgspec

from penstock.client.blocking.client import BlockingClient
from penstock.client.errors import BrokerError
from penstock.client.metadata import TopicPartition
from penstock.client.settings import ClientSettings
from penstock.spark.pipeline.progress.batch import Offsets

_DEADLINE_MS = 5_000
_CLOSE_TIMEOUT_S = 10.0


class OffsetPublisher:
    """`publish` returns at once; `on_error` is called for the first of several failures."""

    def __init__(self, settings: ClientSettings, on_error: Callable[[str], None]) -> None:
        self._cluster = BlockingClient(msgspec.structs.replace(settings, deadline_ms=_DEADLINE_MS))
        self._on_error = on_error
        self._is_failing = False
        self._wanted: dict[str, Offsets] = {}
        self._published: dict[str, Offsets] = {}
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="pipeline-offsets", daemon=True)
        self._thread.start()

    def publish(self, by_group: Mapping[str, Offsets]) -> None:
        self._wanted = dict(by_group)
        self._wake.set()

    def close(self) -> None:
        """Publish the last offsets, within a timeout."""
        self._closing = True
        self._wake.set()
        self._thread.join(_CLOSE_TIMEOUT_S)
        self._cluster.close()

    def _work(self) -> None:
        is_last = False
        while not is_last:
            self._wake.wait()
            self._wake.clear()
            is_last = self._closing
            for group, offsets in self._wanted.items():
                if self._published.get(group) != offsets:
                    self._try_commit(group, offsets)

    def _try_commit(self, group: str, offsets: Offsets) -> None:
        try:
            self._commit(group, offsets)
        except Exception as error:  # noqa: BLE001 - must not end a run
            if not self._is_failing and not self._closing:
                self._on_error(f"cannot commit the offsets of group {group}, retrying: {error}")
            self._is_failing = True
        else:
            self._published[group] = offsets
            self._is_failing = False

    def _commit(self, group: str, offsets: Offsets) -> None:
        topics = self._cluster.topics(offsets)  # without those that were deleted meanwhile
        committed = {
            TopicPartition(topic, partition): offset
            for topic in topics
            for partition, offset in offsets[topic].items()
        }
        for code in self._cluster.commit(group, committed).values():
            if code:
                raise BrokerError(code, "OffsetCommit")
