"""The requests for transactions, for `exactly_once` and for the tasks that write.

Uses the first version of the transaction protocol (KIP-98), which every broker knows: partitions are added before they
are written, a producer's epoch changes when its id is taken over, and ending a transaction that has already ended in
the same way is no error. So applying a decision can be repeated.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from penstock.client.blocking.client import GROUP, TRANSACTION, BlockingClient
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
from penstock.spark.sink.coordinators import RequestKind, call_coordinators
from penstock.spark.sink.decision import (
    APPLIED,
    DECISIONS_TOPIC,
    PARTITIONS,
    Decision,
    Member,
    from_offsets,
    to_pieces,
)
from penstock.spark.sink.errors import Fenced, SinkError
from penstock.spark.sink.identity import Run, driver_id, is_of_task, pattern_of_tasks

TIMEOUT_MS_DEFAULT: Final = 900_000  # the brokers' default of transaction.max.timeout.ms
_TIMEOUT_MS_LEAST: Final = 1_000
_ONGOING: Final = "Ongoing"


# -- errors of responses -------------------------------------------------------------------------


def _worst(codes: Iterable[int]) -> int:
    """Return the first error that is not retriable, else a retriable one, else 0."""
    return max((code for code in codes if code), key=lambda code: not is_retriable(code), default=0)


def _added_error(response: Any) -> int:
    codes = [
        result.partition_error_code
        for topic in response.results_by_topic_v3_and_below
        for result in topic.results_by_partition
    ]
    return _worst(code for code in codes if code != ErrorCode.OPERATION_NOT_ATTEMPTED)


def _described_error(response: Any) -> int:
    code = int(response.transaction_states[0].error_code)
    return 0 if code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND else code


def _fetched_error(response: Any) -> int:
    group = response.groups[0]
    codes = (partition.error_code for topic in group.topics for partition in topic.partitions)
    # A topic that does not exist has no decisions.
    return group.error_code or _worst(c for c in codes if c != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _committed_error(response: Any) -> int:
    return _worst(partition.error_code for topic in response.topics for partition in topic.partitions)


# -- kinds of requests, in the last versions before transaction version 2 (KIP-890), in which ending changes epochs

_INIT = RequestKind(coordinator=TRANSACTION, api_key=init_producer_id.API_KEY, version_max=5)
_ADD = RequestKind(
    coordinator=TRANSACTION, api_key=add_partitions_to_txn.API_KEY, version_max=3, error_of=_added_error
)
_ADD_OFFSETS = RequestKind(coordinator=TRANSACTION, api_key=add_offsets_to_txn.API_KEY, version_max=4)
_COMMIT_OFFSETS = RequestKind(
    coordinator=GROUP, api_key=txn_offset_commit.API_KEY, version_max=4, error_of=_committed_error
)
_END = RequestKind(coordinator=TRANSACTION, api_key=end_txn.API_KEY, version_max=4)
_DESCRIBE = RequestKind(
    coordinator=TRANSACTION,
    api_key=describe_transactions.API_KEY,
    version_max=0,
    error_of=_described_error,
)
_MARK = RequestKind(
    coordinator=GROUP, api_key=offset_commit.API_KEY, version_max=9, error_of=_committed_error
)
_FETCH_OFFSETS = RequestKind(
    coordinator=GROUP, api_key=offset_fetch.API_KEY, version_max=9, error_of=_fetched_error
)

_NEWER_PRODUCER: Final = frozenset(
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
        self._may_shorten = timeout_ms is None

    def _call(self, kind: RequestKind, key: str, request: Any) -> Any:
        return call_coordinators(self._cluster, kind, {key: request})[key]

    # -- one transaction

    def begin(self, transactional_id: str) -> tuple[int, int]:
        while True:
            request = init_producer_id.InitProducerIdRequest(
                transactional_id=transactional_id, transaction_timeout_ms=self._timeout_ms
            )
            response = self._call(_INIT, transactional_id, request)
            if response.error_code != ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                _check(response.error_code, f"taking over {transactional_id}")
                return response.producer_id, response.producer_epoch
            if not self._may_shorten or self._timeout_ms // 2 < _TIMEOUT_MS_LEAST:
                raise SinkError(
                    f"the broker does not allow transactions of {self._timeout_ms} ms: lower "
                    f"kafka.transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers"
                )
            self._timeout_ms //= 2

    def add(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition]
    ) -> None:
        """Add partitions to a transaction; the first ones open it."""
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        request = add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[
                add_partitions_to_txn.AddPartitionsToTxnTopic(name=topic, partitions=numbers)
                for topic, numbers in topics.items()
            ],
        )
        response = self._call(_ADD, transactional_id, request)
        _check(_added_error(response), f"adding partitions to the transaction of {transactional_id}")

    def end(self, run: Run, members: Sequence[Member], *, commit: bool) -> list[Member]:
        requests = {
            transactional_id: end_txn.EndTxnRequest(
                transactional_id=transactional_id,
                producer_id=member.producer_id,
                producer_epoch=member.epoch,
                committed=commit,
            )
            for transactional_id, member in _by_id(run, members).items()
        }
        responses = call_coordinators(self._cluster, _END, requests)
        otherwise = []
        for transactional_id, member in _by_id(run, members).items():
            code = responses[transactional_id].error_code
            if code in _NEWER_PRODUCER:
                otherwise.append(member)
            else:
                _check(code, f"ending the transaction of {transactional_id}")
        return otherwise

    # -- open transactions

    def broken(self, run: Run, members: Sequence[Member]) -> list[Member]:
        by_id = _by_id(run, members)
        requests = {
            each: describe_transactions.DescribeTransactionsRequest(transactional_ids=[each])
            for each in by_id
        }
        responses = call_coordinators(self._cluster, _DESCRIBE, requests)
        broken = []
        for transactional_id, member in by_id.items():
            (state,) = responses[transactional_id].transaction_states
            is_open = state.transaction_state == _ONGOING and not state.error_code
            if not is_open or (state.producer_id, state.producer_epoch) != (member.producer_id, member.epoch):
                broken.append(member)
        return broken

    def open_ids(self, query_id: str) -> list[str]:
        """Ask every broker: each knows only the transactions that it coordinates."""
        brokers = self._cluster.call_any(
            describe_cluster.API_KEY,
            lambda _: describe_cluster.DescribeClusterRequest(),
            lambda response: int(response.error_code),
        ).brokers
        found: list[str] = []
        for broker in brokers:
            found += self._open_at(broker.host, broker.port, query_id)
        return found

    def _open_at(self, host: str, port: int, query_id: str) -> list[str]:
        def attempt() -> list[str]:
            with self._cluster.connection((host, port)) as connection:
                version = connection.version(list_transactions.API_KEY)
                request = list_transactions.ListTransactionsRequest(
                    state_filters=[_ONGOING],
                    transactional_id_pattern=pattern_of_tasks(query_id) if version >= 2 else None,
                )
                response = connection.call(list_transactions.API_KEY, version, request)
            if is_retriable(response.error_code):
                raise Retry(f"it failed with {error_name(response.error_code)}")
            _check(response.error_code, f"listing the transactions of {driver_id(query_id)}")
            ids = (state.transactional_id for state in response.transaction_states)
            return [each for each in ids if is_of_task(each, query_id)]

        return self._cluster.until_done(f"listing the transactions at {host}:{port}", attempt)

    # -- decisions

    def last_decision(self, query_id: str, *, is_stable: bool) -> Decision | None:
        group = driver_id(query_id)
        topic = offset_fetch.OffsetFetchRequestTopics(
            name=DECISIONS_TOPIC, partition_indexes=list(range(PARTITIONS))
        )
        request = offset_fetch.OffsetFetchRequest(
            groups=[offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=[topic])],
            require_stable=is_stable,
        )
        response = self._call(_FETCH_OFFSETS, group, request)
        _check(_fetched_error(response), f"reading the last decision of {group}")
        return from_offsets(
            {
                partition.partition_index: (partition.committed_offset, partition.metadata or "")
                for topic in response.groups[0].topics
                for partition in topic.partitions
                if partition.committed_offset >= 0
            }
        )

    def record(self, query_id: str, producer: tuple[int, int], decision: Decision) -> None:
        group = driver_id(query_id)  # which is the driver's transactional id too
        producer_id, epoch = producer
        pieces = to_pieces(decision)
        what = f"deciding batch {decision.batch_id} of query {query_id}"
        self._ensure_topic()
        add = add_offsets_to_txn.AddOffsetsToTxnRequest(
            transactional_id=group, producer_id=producer_id, producer_epoch=epoch, group_id=group
        )
        _check_driver(self._call(_ADD_OFFSETS, group, add).error_code, what)
        offsets = _offsets(group, producer, decision.batch_id, pieces)
        _check_driver(_committed_error(self._call(_COMMIT_OFFSETS, group, offsets)), what)
        end = end_txn.EndTxnRequest(
            transactional_id=group, producer_id=producer_id, producer_epoch=epoch, committed=True
        )
        _check_driver(self._call(_END, group, end).error_code, what)

    def mark_applied(self, query_id: str, decision: Decision) -> None:
        group = driver_id(query_id)
        mark = offset_commit.OffsetCommitRequestPartition(
            partition_index=APPLIED,
            committed_offset=decision.batch_id,
            committed_metadata=decision.run_id,
        )
        topic = offset_commit.OffsetCommitRequestTopic(name=DECISIONS_TOPIC, partitions=[mark])
        request = offset_commit.OffsetCommitRequest(group_id=group, topics=[topic])
        code = _committed_error(self._call(_MARK, group, request))
        _check(code, f"recording that batch {decision.batch_id} of query {query_id} is applied")

    def _ensure_topic(self) -> None:
        """Create the topic. It stays empty, but brokers accept offsets only for partitions that exist."""
        if not self._cluster.topics([DECISIONS_TOPIC]):
            self._cluster.create_topic(DECISIONS_TOPIC, partitions=PARTITIONS)


# -- pure ----------------------------------------------------------------------------------------------------


def _by_id(run: Run, members: Sequence[Member]) -> dict[str, Member]:
    return {run.transactional_id(member.number): member for member in members}


def _offsets(
    group: str, producer: tuple[int, int], batch_id: int, pieces: Sequence[str]
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
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=[topic],
    )


def _check(code: int, what: str) -> None:
    if code:
        raise BrokerError(code, what)


def _check_driver(code: int, what: str) -> None:
    if code in _NEWER_PRODUCER or code == ErrorCode.TRANSACTION_ABORTABLE:
        raise Fenced(f"{what} failed with {error_name(code)}: another driver has taken over")
    _check(code, what)
