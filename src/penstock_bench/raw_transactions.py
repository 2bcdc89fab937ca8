"""A transactional producer over one blocking connection. It sends one request at a time, to time each step."""

import time
from collections.abc import Sequence
from typing import Any, Final

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import (
    add_partitions_to_txn,
    end_txn,
    find_coordinator,
    init_producer_id,
    list_offsets,
    produce,
)
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_bench.raw_client import RawClient, UnexpectedAnswer

_FIND_VERSION: Final = 2
_TRANSACTION_KEY: Final = 1
_INIT_VERSION: Final = 3
_ADD_VERSION: Final = 3
_PRODUCE_VERSION: Final = (
    11  # the last one whose partitions have to be added to the transaction before (KIP-890)
)
_END_VERSION: Final = 4
_LIST_OFFSETS_VERSION: Final = 7
_LATEST: Final = -1
_READ_COMMITTED: Final = 1
_TIMEOUT_MS: Final = 60_000
_RETRY_S: Final = 0.02
_NOT_YET: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class RawTransactions:
    """Transactions that write one record to each of `partitions` of a topic without other producers."""

    def __init__(self, client: RawClient, topic: str, partitions: Sequence[int], payload: bytes) -> None:
        self._client = client
        self._topic = topic
        self._partitions = list(partitions)
        self._record = NewRecord(value=payload)
        self._count = 0
        self._id, self._epoch = self._init()

    def _init(self) -> tuple[int, int]:
        """Get a producer id. The first request creates the log of the coordinator."""
        deadline = time.monotonic() + _TIMEOUT_MS / 1000
        find = find_coordinator.FindCoordinatorRequest(key=self._topic, key_type=_TRANSACTION_KEY)
        init = init_producer_id.InitProducerIdRequest(
            transactional_id=self._topic, transaction_timeout_ms=_TIMEOUT_MS
        )
        while True:
            self._client.request(find_coordinator.API_KEY, _FIND_VERSION, find)
            answer = self._client.request(init_producer_id.API_KEY, _INIT_VERSION, init)
            if answer.error_code not in _NOT_YET or time.monotonic() > deadline:
                _check(answer.error_code, "a producer id")
                return answer.producer_id, answer.producer_epoch
            time.sleep(_RETRY_S)

    def write(self) -> None:
        """Begin a transaction with one acknowledged record in each partition."""
        add = add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._topic,
            v3_and_below_producer_id=self._id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=[
                add_partitions_to_txn.AddPartitionsToTxnTopic(name=self._topic, partitions=self._partitions)
            ],
        )
        added = self._client.request(add_partitions_to_txn.API_KEY, _ADD_VERSION, add)
        for topic in added.results_by_topic_v3_and_below:
            for result in topic.results_by_partition:
                _check(result.partition_error_code, "adding a partition")
        answer = self._client.request(produce.API_KEY, _PRODUCE_VERSION, self._produce_request())
        for partition in answer.responses[0].partition_responses:
            _check(partition.error_code, "a transactional produce")
        self._count += 1

    def _produce_request(self) -> produce.ProduceRequest:
        batch = build_batch(
            [self._record],
            producer_id=self._id,
            producer_epoch=self._epoch,
            base_sequence=self._count,
            is_transactional=True,
        )
        data = [produce.PartitionProduceData(index=each, records=batch) for each in self._partitions]
        return produce.ProduceRequest(
            transactional_id=self._topic,
            acks=-1,
            timeout_ms=_TIMEOUT_MS,
            topic_data=[produce.TopicProduceData(name=self._topic, partition_data=data)],
        )

    def commit(self) -> None:
        """Commit, and return when EndTxn is answered; the markers may not be written yet."""
        request = end_txn.EndTxnRequest(
            transactional_id=self._topic, producer_id=self._id, producer_epoch=self._epoch, committed=True
        )
        _check(self._client.request(end_txn.API_KEY, _END_VERSION, request).error_code, "a commit")

    def await_visible(self) -> None:
        """Wait until consumers with `read_committed` can read the committed records of every partition."""
        deadline = time.monotonic() + _TIMEOUT_MS / 1000
        expected = self._count * 2  # a record and a marker for each transaction
        while any(partition.offset < expected for partition in self._last_stable_offsets()):
            if time.monotonic() > deadline:
                raise UnexpectedAnswer(f"a commit on {self._topic} did not become visible")

    def _last_stable_offsets(self) -> list[Any]:
        asked = [
            list_offsets.ListOffsetsPartition(partition_index=each, timestamp=_LATEST)
            for each in self._partitions
        ]
        request = list_offsets.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=_READ_COMMITTED,
            topics=[list_offsets.ListOffsetsTopic(name=self._topic, partitions=asked)],
        )
        answer = self._client.request(list_offsets.API_KEY, _LIST_OFFSETS_VERSION, request)
        return list(answer.topics[0].partitions)


def _check(error_code: int, what: str) -> None:
    if error_code:
        raise UnexpectedAnswer(f"{what} was refused: {ErrorCode(error_code).name}")
