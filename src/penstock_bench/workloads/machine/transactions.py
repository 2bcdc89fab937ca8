"""(j) What transactions cost: the same producer with and without them, and a commit over one and over 50 partitions."""

import time
from collections.abc import Sequence
from typing import Final

import confluent_kafka

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import (
    add_partitions_to_txn,
    end_txn,
    find_coordinator,
    init_producer_id,
    produce,
)
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_bench.context import Bench
from penstock_bench.figures import quantile
from penstock_bench.frames import UnexpectedAnswer
from penstock_bench.raw_client import RawClient
from penstock_bench.workloads.machine.producers import produce_with_librdkafka

_TOPIC: Final = "transactions"
_MESSAGE_BYTES: Final = 1024
_COMMIT_INTERVAL_S: Final = 0.1
_FLUSH_S: Final = 60.0
_QUEUE: Final = {"queue.buffering.max.messages": 5_000_000, "queue.buffering.max.kbytes": 2_000_000}
_PARTITION_COUNTS: Final = (1, 50)
_ANSWERED, _VISIBLE = "commit answered", "commit visible to readers"
_FIND_VERSION: Final = 2
_TRANSACTION_KEY: Final = 1
_INIT_VERSION: Final = 3
_ADD_VERSION: Final = 3
_PRODUCE_VERSION: Final = 11  # the last one that needs AddPartitionsToTxn before (KIP-890)
_END_VERSION: Final = 4
_TIMEOUT_MS: Final = 60_000
_RETRY_S: Final = 0.02
_NOT_YET: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


def run(bench: Bench) -> None:
    board = bench.board
    count = bench.scale.bulk_messages[_MESSAGE_BYTES]
    for _ in bench.rounds("transactional against plain"):
        with bench.broker({_TOPIC: 1}) as (server, _):
            settings = {"enable.idempotence": True}
            used = produce_with_librdkafka(server, _TOPIC, _MESSAGE_BYTES, count, **settings)
            board.add("plain", count / used.took_s, "msg/s")
        with bench.broker({_TOPIC: 1}) as (server, _):
            took_s = _produce_in_transactions(server.bootstrap, b"x" * _MESSAGE_BYTES, count)
            board.add("transactional", count / took_s, "msg/s")
    board.ratio("transactional / plain", "transactional", "plain")
    _measure_commits(bench)


def _produce_in_transactions(bootstrap: str, payload: bytes, count: int) -> float:
    """Return the seconds from the first `produce` to the last commit, with one commit in each interval."""
    settings = {"bootstrap.servers": bootstrap, "transactional.id": _TOPIC, "socket.nagle.disable": True}
    producer = confluent_kafka.Producer({**settings, **_QUEUE, "log_level": 2})
    producer.list_topics(_TOPIC, timeout=_FLUSH_S)  # connected
    producer.init_transactions(_FLUSH_S)
    began = time.perf_counter()
    producer.begin_transaction()
    commit_at = began + _COMMIT_INTERVAL_S
    for number in range(count):
        producer.produce(_TOPIC, payload, partition=0)
        if number % 64 == 0 and time.perf_counter() >= commit_at:
            producer.commit_transaction(_FLUSH_S)  # raises when a message was not delivered
            producer.begin_transaction()
            commit_at = time.perf_counter() + _COMMIT_INTERVAL_S
    producer.commit_transaction(_FLUSH_S)
    return time.perf_counter() - began


def _measure_commits(bench: Bench) -> None:
    topics = {f"{_TOPIC}-{count}": count for count in _PARTITION_COUNTS}
    with bench.broker(topics) as (server, _), RawClient(server.address) as client:
        producers = {
            count: RawTransactions(client, topic, range(count), b"x" * 100) for topic, count in topics.items()
        }
        for producer in producers.values():
            _commit_for(producer, min(0.3, bench.scale.round_s))
        for _ in bench.rounds("commits over several partitions"):
            for count, producer in producers.items():
                answered_s, visible_s = _commit_for(producer, bench.scale.round_s)
                bench.board.add(_over(_ANSWERED, count), quantile(answered_s, 0.5) * 1e3, "ms")
                bench.board.add(_over(_VISIBLE, count), quantile(visible_s, 0.5) * 1e3, "ms")
    few, many = _PARTITION_COUNTS
    for what in (_ANSWERED, _VISIBLE):
        bench.board.ratio(f"{what}: {many} / {few} partition", _over(what, many), _over(what, few))


def _commit_for(producer: "RawTransactions", duration_s: float) -> tuple[list[float], list[float]]:
    """Return the seconds until each commit was answered, and until it was visible."""
    answered_s: list[float] = []
    visible_s: list[float] = []
    end = time.perf_counter() + duration_s
    while time.perf_counter() < end:
        producer.write()
        began = time.perf_counter()
        producer.commit()
        answered_s.append(time.perf_counter() - began)
        producer.await_visible()
        visible_s.append(time.perf_counter() - began)
    return answered_s, visible_s


def _over(what: str, partitions: int) -> str:
    return f"{what}, {partitions} partition{'s' if partitions > 1 else ''}"


class RawTransactions:
    """Transactions that write one record to each of `partitions` of a topic without other producers. They are sent one
    request at a time over one blocking connection, to time each step.
    """

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
            response = self._client.request(init_producer_id.API_KEY, _INIT_VERSION, init)
            if response.error_code not in _NOT_YET or time.monotonic() > deadline:
                _check(response.error_code, "a producer id")
                return response.producer_id, response.producer_epoch
            time.sleep(_RETRY_S)

    def write(self) -> None:
        """Begin a transaction with one acknowledged record in each partition."""
        topic = add_partitions_to_txn.AddPartitionsToTxnTopic(name=self._topic, partitions=self._partitions)
        add = add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._topic,
            v3_and_below_producer_id=self._id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=[topic],
        )
        added = self._client.request(add_partitions_to_txn.API_KEY, _ADD_VERSION, add)
        for result in added.results_by_topic_v3_and_below[0].results_by_partition:
            _check(result.partition_error_code, "adding a partition")
        response = self._client.request(produce.API_KEY, _PRODUCE_VERSION, self._produce_request())
        for partition in response.responses[0].partition_responses:
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
        while min(self._client.end_offsets(self._topic, self._partitions, is_committed=True)) < expected:
            if time.monotonic() > deadline:
                raise UnexpectedAnswer(f"a commit on {self._topic} did not become visible")


def _check(error_code: int, what: str) -> None:
    if error_code:
        raise UnexpectedAnswer(f"{what} was refused: {ErrorCode(error_code).name}")
