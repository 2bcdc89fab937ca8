"""Sends the transaction requests of the driver (`exactly_once`) and of the writing tasks.

Uses the first version of the transaction protocol (KIP-98), which every broker knows: partitions are added before they
are written, a producer's epoch changes when its id is taken over, and ending a transaction that has already ended in
the same way is no error. So applying a decision can be repeated.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from penstock.client.blocking.client import GROUP, TRANSACTION, BlockingClient
from penstock.client.connection import Disconnected
from penstock.client.core.destinations import ANY, CoordinatorOf
from penstock.client.core.steps import api_key_of
from penstock.client.errors import BrokerError, Retry, error_name
from penstock.client.metadata import TopicPartition
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    describe_cluster,
    describe_transactions,
    end_txn,
    init_producer_id,
    list_transactions,
    offset_commit,
    offset_fetch,
    txn_offset_commit,
)
from penstock.spark.sink.decision import (
    APPLIED_PARTITION,
    DECISIONS_TOPIC,
    PARTITIONS,
    Decision,
    Member,
    Producer,
    decode_offsets,
    encode_pieces,
)
from penstock.spark.sink.errors import Fenced, SinkError
from penstock.spark.sink.identity import Run, driver_id, is_task_of_query

TIMEOUT_MS_DEFAULT: Final = 900_000  # the brokers' default of transaction.max.timeout.ms
_TIMEOUT_MS_MIN: Final = 1_000
_ONGOING: Final = "Ongoing"
# Requests in flight to one broker: few enough to fit, with their responses, into the buffers of a socket.
_IN_FLIGHT_MAX: Final = 100

# The last versions before transaction version 2 (KIP-890), in which the end of a transaction changes the epoch. For
# offset requests: the last versions with topic names instead of ids.
_VERSIONS: Final = {
    init_producer_id.API_KEY: 5,
    add_partitions_to_txn.API_KEY: 3,
    add_offsets_to_txn.API_KEY: 4,
    txn_offset_commit.API_KEY: 4,
    end_txn.API_KEY: 4,
    describe_transactions.API_KEY: 0,
    offset_commit.API_KEY: 9,
    offset_fetch.API_KEY: 9,
}

_FENCED_CODES: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
    }
)


class BrokerTransactions:
    """Implements `exactly_once.Transactions`. Without `timeout_ms` it uses the longest that brokers allow."""

    def __init__(self, cluster: BlockingClient, *, timeout_ms: int | None = None) -> None:
        self._cluster = cluster
        self._timeout_ms = TIMEOUT_MS_DEFAULT if timeout_ms is None else timeout_ms
        self._can_lower_timeout = timeout_ms is None
        self._has_decisions_topic = False

    def _call(self, kind: int, key: str, request: Any, what: str) -> Any:
        """Ask a coordinator until its response has no retriable error. Raises `BrokerError` for any other."""
        version_max = _VERSIONS[api_key_of(request)]
        to = CoordinatorOf(kind, key)
        return self._cluster.request(to, request, error_of=_first_error, version_max=version_max, what=what)

    def begin(self, transactional_id: str) -> Producer:
        while True:
            request = init_producer_id.InitProducerIdRequest(
                transactional_id=transactional_id, transaction_timeout_ms=self._timeout_ms
            )
            try:
                response = self._call(
                    TRANSACTION, transactional_id, request, f"taking over {transactional_id}"
                )
            except BrokerError as error:
                if error.code != ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                    raise
                if not self._can_lower_timeout or self._timeout_ms // 2 < _TIMEOUT_MS_MIN:
                    raise SinkError(
                        f"the broker does not allow transactions of {self._timeout_ms} ms: lower "
                        f"kafka.transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers"
                    ) from None
                self._timeout_ms //= 2
            else:
                return Producer(response.producer_id, response.producer_epoch)

    def add(self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions to a transaction; the first ones open it."""
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        request = add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                add_partitions_to_txn.AddPartitionsToTxnTopic(name=topic, partitions=numbers)
                for topic, numbers in topics.items()
            ],
        )
        what = f"adding partitions to the transaction of {transactional_id}"
        self._call(TRANSACTION, transactional_id, request, what)

    def end(self, run: Run, members: Sequence[Member], *, commit: bool) -> list[Member]:
        by_id = _by_transactional_id(run, members)
        responses = self._call_all(
            {name: _end_request(name, member.producer, commit) for name, member in by_id.items()}
        )
        ended_otherwise = []
        for transactional_id, member in by_id.items():
            code = responses[transactional_id].error_code
            if code in _FENCED_CODES:
                ended_otherwise.append(member)
            elif code:
                raise BrokerError(code, f"ending the transaction of {transactional_id}")
        return ended_otherwise

    def find_lost(self, run: Run, members: Sequence[Member]) -> list[Member]:
        by_id = _by_transactional_id(run, members)
        describe = describe_transactions.DescribeTransactionsRequest
        responses = self._call_all({each: describe(transactional_ids=[each]) for each in by_id})
        lost = []
        for transactional_id, member in by_id.items():
            (state,) = responses[transactional_id].transaction_states
            is_open = state.transaction_state == _ONGOING and not state.error_code
            if not is_open or (state.producer_id, state.producer_epoch) != member.producer:
                lost.append(member)
        return lost

    def _call_all(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Send each request to the coordinator of its transactional id; return responses without retriable errors.

        Requests are pipelined: a broker then writes two hundred ended transactions to its log together.
        """
        responses: dict[str, Any] = {}

        def attempt() -> None:
            by_broker: dict[tuple[str, int], list[str]] = {}
            for key in requests.keys() - responses.keys():
                by_broker.setdefault(self._cluster.coordinator(TRANSACTION, key), []).append(key)
            failure = ""
            for address, keys in by_broker.items():
                for first in range(0, len(keys), _IN_FLIGHT_MAX):
                    part = {key: requests[key] for key in keys[first : first + _IN_FLIGHT_MAX]}
                    for key, response in self._pipeline(address, part).items():
                        code = _first_error(response)
                        if not is_retriable(code):
                            responses[key] = response
                            continue
                        failure = f"{key} failed with {error_name(code)}"
                        if code != ErrorCode.CONCURRENT_TRANSACTIONS:
                            self._cluster.forget_coordinator(TRANSACTION, key)
            if failure:
                raise Retry(failure)

        self._cluster.until_done("calling the transaction coordinators", attempt)
        return responses

    def _pipeline(self, address: tuple[str, int], requests: Mapping[str, Any]) -> dict[str, Any]:
        try:
            with self._cluster.connection(address) as connection:
                for request in requests.values():
                    api_key = api_key_of(request)
                    connection.send(api_key, connection.version(api_key, _VERSIONS[api_key]), request)
                return {key: connection.receive() for key in requests}
        except Disconnected:
            for key in requests:
                self._cluster.forget_coordinator(TRANSACTION, key)
            raise

    def open_transactional_ids(self, query_id: str) -> list[str]:
        """Ask every broker: each knows only the transactions that it coordinates."""
        brokers = self._cluster.request(ANY, describe_cluster.DescribeClusterRequest()).brokers
        listed = [each for broker in brokers for each in self._list_open_at(broker.host, broker.port)]
        return [each for each in listed if is_task_of_query(each, query_id)]

    def _list_open_at(self, host: str, port: int) -> list[str]:
        what = f"listing the transactions at {host}:{port}"
        request = list_transactions.ListTransactionsRequest(state_filters=[_ONGOING])

        def attempt() -> list[str]:
            with self._cluster.connection((host, port)) as connection:
                version = connection.version(list_transactions.API_KEY)
                response = connection.call(list_transactions.API_KEY, version, request)
            if is_retriable(response.error_code):
                raise Retry(f"ListTransactions failed with {error_name(response.error_code)}")
            if response.error_code:
                raise BrokerError(response.error_code, what)
            return [state.transactional_id for state in response.transaction_states]

        return self._cluster.until_done(what, attempt)

    def last_decision(self, query_id: str, *, is_stable: bool) -> Decision | None:
        group = driver_id(query_id)
        topic = offset_fetch.OffsetFetchRequestTopics(
            name=DECISIONS_TOPIC, partition_indexes=list(range(PARTITIONS))
        )
        request = offset_fetch.OffsetFetchRequest(
            groups=[offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=[topic])],
            require_stable=is_stable,
        )
        response = self._call(GROUP, group, request, f"reading the last decision of {group}")
        return decode_offsets(
            {
                partition.partition_index: (partition.committed_offset, partition.metadata or "")
                for topic in response.groups[0].topics
                for partition in topic.partitions
                if partition.committed_offset >= 0
            }
        )

    def record(self, query_id: str, producer: Producer, decision: Decision) -> None:
        group = driver_id(query_id)  # also the driver's transactional id
        offsets = _decision_request(group, producer, decision.batch_id, encode_pieces(decision))
        what = f"deciding batch {decision.batch_id} of query {query_id}"
        if not self._has_decisions_topic and not self._cluster.topics([DECISIONS_TOPIC]):
            # It stays empty, but brokers accept offsets only for partitions that exist.
            self._cluster.create_topic(DECISIONS_TOPIC, partitions=PARTITIONS)
        self._has_decisions_topic = True
        add = add_offsets_to_txn.AddOffsetsToTxnRequest(
            transactional_id=group,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=group,
        )
        try:
            self._call(TRANSACTION, group, add, what)
            self._call(GROUP, group, offsets, what)
            self._call(TRANSACTION, group, _end_request(group, producer, commit=True), what)
        except BrokerError as error:
            if error.code in _FENCED_CODES or error.code == ErrorCode.TRANSACTION_ABORTABLE:
                raise Fenced(f"{error}: another driver has taken over") from error
            raise

    def mark_applied(self, query_id: str, decision: Decision) -> None:
        group = driver_id(query_id)
        mark = offset_commit.OffsetCommitRequestPartition(
            partition_index=APPLIED_PARTITION,
            committed_offset=decision.batch_id,
            committed_metadata=decision.run_id,
        )
        topic = offset_commit.OffsetCommitRequestTopic(name=DECISIONS_TOPIC, partitions=[mark])
        request = offset_commit.OffsetCommitRequest(group_id=group, topics=[topic])
        what = f"recording that batch {decision.batch_id} of query {query_id} is applied"
        self._call(GROUP, group, request, what)


def _by_transactional_id(run: Run, members: Sequence[Member]) -> dict[str, Member]:
    return {run.transactional_id(member.number): member for member in members}


def _end_request(transactional_id: str, producer: Producer, commit: bool) -> end_txn.EndTxnRequest:
    return end_txn.EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=commit,
    )


def _decision_request(
    group: str, producer: Producer, batch_id: int, pieces: Sequence[str]
) -> txn_offset_commit.TxnOffsetCommitRequest:
    partitions = [
        txn_offset_commit.TxnOffsetCommitRequestPartition(
            partition_index=index, committed_offset=batch_id, committed_metadata=piece
        )
        for index, piece in enumerate(pieces)
    ]
    topic = txn_offset_commit.TxnOffsetCommitRequestTopic(name=DECISIONS_TOPIC, partitions=partitions)
    return txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id=group,
        group_id=group,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=[topic],
    )


def _first_error(response: Any) -> int:
    """Return the first error of a response that is not retriable, else a retriable one, else 0."""
    match response:
        case add_partitions_to_txn.AddPartitionsToTxnResponse():
            topics = response.results_by_topic_v3_and_below
            results = [each.partition_error_code for topic in topics for each in topic.results_by_partition]
            codes = [code for code in results if code != ErrorCode.OPERATION_NOT_ATTEMPTED]
        case describe_transactions.DescribeTransactionsResponse():
            code = response.transaction_states[0].error_code
            codes = [] if code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND else [code]
        case offset_fetch.OffsetFetchResponse():
            group = response.groups[0]
            codes = [each.error_code for topic in group.topics for each in topic.partitions]
            # A topic that does not exist has no decisions.
            codes = [group.error_code, *(c for c in codes if c != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
        case offset_commit.OffsetCommitResponse() | txn_offset_commit.TxnOffsetCommitResponse():
            codes = [each.error_code for topic in response.topics for each in topic.partitions]
        case _:
            codes = [response.error_code]
    return max((code for code in codes if code), key=lambda code: not is_retriable(code), default=0)
