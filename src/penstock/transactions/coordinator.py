"""The transaction coordinator of a broker. It provides `state`, which does no I/O, with its log, clock and markers.

It decides a request at once, based on earlier decisions, and then waits for the log. When the decision to end a
transaction is committed, it sends the markers until every partition has one, and then writes that the transaction is
complete. A broker that loads a partition of the log continues where another stopped: it completes prepared
transactions, so that a transaction ends in the same way in all partitions.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple

from penstock.cluster.controller import Controller
from penstock.cluster.controller_access import CreateTopic
from penstock.cluster.coordination.change import Change
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.cluster.coordination.periodic import PeriodicTasks
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import TRANSACTION_VERSION
from penstock.cluster.metadata.topic_names import TRANSACTION_STATE
from penstock.cluster.replicas import Replicas
from penstock.config.broker import BrokerConfig
from penstock.config.settings import coordinators
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import Clock
from penstock.storage.errors import LogError
from penstock.transactions import state
from penstock.transactions.completion import Completions, wait_for_write
from penstock.transactions.ids import TransactionalIds
from penstock.transactions.markers import MarkerSender
from penstock.transactions.records import tombstone, transaction_record
from penstock.transactions.state import Decision, Producer, TopicPartition, Transaction

log = logging.getLogger(__name__)

Ids = CoordinatorPartition[TransactionalIds]
Decide = Callable[[Transaction | None, int | None], Decision]

NO_PRODUCER = Producer(-1, -1)
TIMEOUT_MS_MAX = 2**31 - 1
_MARKERS_WAIT_S = 0.5
"""The maximum time a request waits for the markers of the previous transaction, which usually takes milliseconds."""


class ProducerResult(NamedTuple):
    error: ErrorCode
    producer: Producer = NO_PRODUCER


class TransactionCoordinator:
    def __init__(
        self,
        controller: Controller,
        replicas: Replicas,
        clock: Clock,
        *,
        create_topic: CreateTopic,
        new_producer_id: Callable[[], Awaitable[int]],
        markers: MarkerSender,
    ) -> None:
        self._controller = controller
        self._create_topic = create_topic
        self._clock = clock
        self._new_producer_id = new_producer_id
        self._completions = Completions(controller.image, clock, markers, self._store)
        self.partitions: CoordinatorPartitions[TransactionalIds] = CoordinatorPartitions(
            TRANSACTION_STATE,
            controller.config.node_id,
            controller.image,
            replicas,
            clock,
            make_state=TransactionalIds,
            on_loaded=self._resume,
            on_ended=self._completions.stop_for,
        )
        self._maintenance = PeriodicTasks(clock)

    @property
    def config(self) -> BrokerConfig:
        return self._controller.config

    # -- lifecycle ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the partitions that this broker leads, and begin to answer requests."""
        self.partitions.start()
        abort_interval = coordinators.TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS
        self._maintenance.start(
            "transaction abort", lambda: self.config[abort_interval], self.abort_timed_out
        )
        expiry_interval = coordinators.TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS
        self._maintenance.start("transactional id expiry", lambda: self.config[expiry_interval], self.expire)

    async def stop(self) -> None:
        await self._maintenance.stop()
        await self.partitions.stop()
        await self._completions.stop()

    def apply(self, delta: MetadataDelta) -> None:
        """Apply a change of the metadata, after `Replicas` has."""
        self.partitions.apply(delta)

    def _resume(self, ids: Ids) -> None:
        for transaction in ids.state:
            if transaction.state.is_prepared:
                self._completions.begin(ids, transaction)

    async def ensure_ready(self, transactional_id: str) -> bool:
        """Create the topic if it is missing. Return whether this broker has loaded the id's partition."""
        if self.partitions.partition_count == 0:
            await self._create_topic(TRANSACTION_STATE)
        return await self.partitions.wait_until_ready(transactional_id)

    # -- requests of producers ------------------------------------------------------------------------

    async def init_producer(
        self,
        transactional_id: str,
        *,
        timeout_ms: int,
        expected: Producer | None = None,
        is_2pc: bool = False,
    ) -> ProducerResult:
        """Give the id to a producer. A two-phase commit (KIP-939) never times out."""
        if is_2pc:
            timeout_ms = TIMEOUT_MS_MAX
        elif not 0 < timeout_ms <= self.config[coordinators.TRANSACTION_MAX_TIMEOUT_MS]:
            return ProducerResult(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        now_ms = self._clock.now_ms()
        decided = await self._decide(
            transactional_id,
            lambda before, new_producer_id: state.init_producer(
                before,
                transactional_id,
                timeout_ms=timeout_ms,
                expected=expected,
                now_ms=now_ms,
                new_producer_id=new_producer_id,
            ),
        )
        after = decided.after
        if decided.error or after is None:
            return ProducerResult(decided.error)
        return ProducerResult(ErrorCode.NONE, Producer(after.producer_id, after.producer_epoch))

    async def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> ErrorCode:
        now_ms = self._clock.now_ms()
        decided = await self._decide(
            transactional_id,
            lambda before, _: state.add_partitions(before, producer, partitions, now_ms=now_ms),
        )
        return decided.error

    async def verify(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Check whether these are part of the producer's transaction, without adding them."""
        outcome: dict[TopicPartition, ErrorCode] = {}

        def check(before: Transaction | None, _: int | None) -> Decision:
            outcome.update(state.verify(before, producer, partitions))
            is_ending = ErrorCode.CONCURRENT_TRANSACTIONS in outcome.values()
            return Decision(ErrorCode.CONCURRENT_TRANSACTIONS if is_ending else ErrorCode.NONE)

        decided = await self._decide(transactional_id, check)
        return dict.fromkeys(partitions, decided.error) if decided.error else outcome

    async def end(
        self, transactional_id: str, producer: Producer, *, commit: bool, client_version: int
    ) -> ProducerResult:
        """Commit or abort a transaction. Return the producer's id and epoch for the next one."""
        now_ms = self._clock.now_ms()
        known: list[Transaction | None] = [None]

        def decide(before: Transaction | None, new_producer_id: int | None) -> Decision:
            known[0] = before
            return state.end(
                before,
                producer,
                commit=commit,
                client_version=client_version,
                now_ms=now_ms,
                new_producer_id=new_producer_id,
            )

        decided = await self._decide(transactional_id, decide)
        now = decided.after or known[0]
        if decided.error or now is None:
            return ProducerResult(decided.error)
        return ProducerResult(ErrorCode.NONE, state.producer_after_end(now))

    def get(self, transactional_id: str) -> Transaction | ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        ids = self.partitions.find(transactional_id)
        if isinstance(ids, ErrorCode):
            return ids
        return ids.state.get(transactional_id) or ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    # -- deciding and storing -------------------------------------------------------------------------

    async def _decide(self, transactional_id: str, decide: Decide) -> Decision:
        """Decide, and wait until that and the decisions before it are committed."""
        if not transactional_id:
            return Decision(ErrorCode.INVALID_REQUEST)
        new_producer_id: int | None = None
        may_wait = True
        while True:
            ids = self.partitions.find(transactional_id)
            if isinstance(ids, ErrorCode):
                return Decision(ids)
            decision = decide(ids.state.get(transactional_id), new_producer_id)
            if decision.needs_producer_id:
                try:
                    new_producer_id = await self._new_producer_id()
                except LogError:  # the log has no room for a new block of ids
                    return Decision(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
                continue
            try:
                if decision.after is not None:
                    self._store(ids, decision.after)
                written = ids.state.writing.get(transactional_id)
                if written is not None:
                    await wait_for_write(written)
            except CoordinatorError as error:
                return Decision(error.code)
            if decision.error is not ErrorCode.CONCURRENT_TRANSACTIONS or not may_wait:
                return decision
            may_wait = False
            await self._completions.wait_for(transactional_id, _MARKERS_WAIT_S)

    def _store(self, ids: Ids, transaction: Transaction) -> "asyncio.Future[None]":
        """Write a transaction and apply it. Raises `CoordinatorError`, and then nothing has changed.

        Nothing is written while too few replicas are in sync: a write that fails makes the partition load again, and
        each load sends the markers of all prepared transactions again.
        """
        ids.require_in_sync()
        level = self._controller.image.features.finalized.get(TRANSACTION_VERSION, 0)
        record = transaction_record(transaction, is_flexible=level >= 1)
        written = ids.write(Change([record], partial(ids.state.put, transaction)))
        ids.state.writing[transaction.transactional_id] = written
        written.add_done_callback(lambda done: self._on_stored(ids, transaction, done))
        return written

    def _on_stored(self, ids: Ids, transaction: Transaction, written: "asyncio.Future[None]") -> None:
        writing = ids.state.writing
        if writing.get(transaction.transactional_id) is written:
            del writing[transaction.transactional_id]
        if written.exception() is None and transaction.state.is_prepared and ids.is_loaded:
            self._completions.begin(ids, transaction)

    # -- maintenance ----------------------------------------------------------------------------------

    def abort_timed_out(self) -> None:
        """Abort every transaction that has exceeded its timeout."""
        now_ms = self._clock.now_ms()
        for ids, transaction in self._each():
            if state.is_timed_out(transaction, now_ms):
                log.info(
                    "Aborting a timed-out transaction. transactional_id=%s", transaction.transactional_id
                )
                with self._retried_later(ids):
                    self._store(ids, state.fence(transaction, now_ms=now_ms))

    def expire(self) -> None:
        """Delete expired transactional ids."""
        now_ms = self._clock.now_ms()
        expiration_ms = self.config[coordinators.TRANSACTIONAL_ID_EXPIRATION_MS]
        for ids, transaction in self._each():
            if state.is_expired(transaction, now_ms, expiration_ms):
                with self._retried_later(ids):
                    transactional_id = transaction.transactional_id
                    remove = partial(ids.state.remove, transactional_id)
                    ids.require_in_sync()
                    ids.write(Change([tombstone(transactional_id, now_ms)], remove))

    def _each(self) -> Iterator[tuple[Ids, Transaction]]:
        """Yield the transactions of this broker, except those that are being written."""
        for ids in self.partitions:
            for transaction in ids.state:
                if transaction.transactional_id not in ids.state.writing:
                    yield ids, transaction

    @staticmethod
    @contextlib.contextmanager
    def _retried_later(ids: Ids) -> Iterator[None]:
        """Log a refused write, which the next round retries."""
        try:
            yield
        except CoordinatorError as error:
            log.warning("Cannot write to %s-%d: %s", TRANSACTION_STATE, ids.number, error)
