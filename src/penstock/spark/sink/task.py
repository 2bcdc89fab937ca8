"""Writes the rows of one task to the brokers, for exactly-once delivery in a separate transaction."""

from collections.abc import Callable, Iterable
from typing import Final

import pyarrow as pa

from penstock.client.blocking.client import BlockingClient
from penstock.client.core.destinations import ANY
from penstock.client.errors import BrokerError, Retry, TimedOut, error_name
from penstock.client.metadata import TopicPartition
from penstock.protocol.errors import is_retriable
from penstock.protocol.messages import init_producer_id, metadata
from penstock.spark.sink.accumulator import Accumulator, SealedBatch
from penstock.spark.sink.columns import rows_of
from penstock.spark.sink.decision import Producer
from penstock.spark.sink.errors import WriteRefused
from penstock.spark.sink.sender import Sender
from penstock.spark.sink.settings import SinkSettings
from penstock.spark.sink.transactions import BrokerTransactions

_PENDING_BYTES_MAX: Final = 1024 * 1024
_TOPIC_DEADLINE_MS: Final = 10_000  # a broker may need some time to create a topic


class TaskWriter:
    """Writes rows as one producer. With a transactional id they are invisible until the transaction is committed."""

    def __init__(
        self,
        settings: SinkSettings,
        cluster: BlockingClient,
        *,
        now_ms: Callable[[], int],
        transactional_id: str | None,
        first_partition: int,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._now_ms = now_ms
        self._transactional_id = transactional_id
        self._first_partition = first_partition
        self._transactions = BrokerTransactions(cluster, timeout_ms=settings.transaction_timeout_ms)
        self._partition_counts: dict[str, int] = {}
        self._added_partitions: set[TopicPartition] = set()
        self.producer: Producer | None = None

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Write all rows; return when they are stored. A task without rows has no transaction."""
        sender = Sender(self._cluster, self._settings, transactional_id=self._transactional_id)
        pending: dict[TopicPartition, SealedBatch] = {}
        pending_bytes = 0
        accumulator: Accumulator | None = None
        try:
            for batch in batches:
                if not batch.num_rows:
                    continue
                accumulator = accumulator or self._accumulator()
                for sealed in accumulator.add(rows_of(batch, self._settings.topic)):
                    if sealed.tp in pending or pending_bytes > _PENDING_BYTES_MAX:
                        self._send(sender, pending)
                        pending_bytes = 0
                    pending[sealed.tp] = sealed
                    pending_bytes += len(sealed.data)
            if accumulator is not None:
                self._send(sender, pending)
                for sealed in accumulator.flush():
                    pending[sealed.tp] = sealed
                self._send(sender, pending)
                sender.finish()
        finally:
            sender.close()

    def _send(self, sender: Sender, pending: dict[TopicPartition, SealedBatch]) -> None:
        if not pending:
            return
        if self._transactional_id is not None:
            new = pending.keys() - self._added_partitions
            if new:
                assert self.producer is not None
                self._transactions.add(self._transactional_id, self.producer, sorted(new))
                self._added_partitions |= new
        sender.send(list(pending.values()))
        pending.clear()

    def _accumulator(self) -> Accumulator:
        if self._transactional_id is None:
            request = init_producer_id.InitProducerIdRequest(
                transactional_id=None, transaction_timeout_ms=60_000
            )
            response = self._cluster.request(ANY, request)
            self.producer = Producer(response.producer_id, response.producer_epoch)
        else:
            self.producer = self._transactions.begin(self._transactional_id)
        return Accumulator(
            self._settings,
            self.producer,
            is_transactional=self._transactional_id is not None,
            partition_count=self._partition_count,
            now_ms=self._now_ms,
            first_partition=self._first_partition,
        )

    def _partition_count(self, topic: str) -> int:
        if topic not in self._partition_counts:
            try:
                self._partition_counts[topic] = self._cluster.until_done(
                    f"looking for topic {topic!r}",
                    lambda: self._find_partitions(topic),
                    deadline_ms=_TOPIC_DEADLINE_MS,
                )
            except TimedOut as error:
                raise WriteRefused(
                    f"topic {topic!r} cannot be written to: create it first if the broker does not create topics "
                    f"automatically ({error})"
                ) from error
        return self._partition_counts[topic]

    def _find_partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic; brokers with auto-creation create it."""
        request = metadata.MetadataRequest(
            topics=[metadata.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True
        )
        (found,) = self._cluster.call_any(metadata.API_KEY, lambda _: request).topics
        code = found.error_code
        if not code and found.partitions:
            return len(found.partitions)
        if code and not is_retriable(code):
            raise BrokerError(code, f"looking for topic {topic!r}")
        raise Retry(f"Metadata of topic {topic!r} failed with {error_name(code)}")
