"""The transaction coordinator of a broker: the shell that gives the pure `state` its log, its clock and its markers.

A request is decided at once, on top of what was decided before it; what is then awaited is the log. When a decision to
end a transaction is committed, its markers are sent, again and again until every partition has one, and then that is
written down too. A broker that loads a partition of the log goes on wherever another stopped: whatever is prepared is
carried out, so a transaction ends one way everywhere.
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
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import TRANSACTION_VERSION
from penstock.cluster.replicas import Replicas
from penstock.cluster.topic_names import TRANSACTION_STATE
from penstock.config.broker import BrokerConfig
from penstock.config.themes import coordinators
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode
from penstock.storage.log.errors import LogError
from penstock.transactions import state
from penstock.transactions.completion import Completions, committed
from penstock.transactions.ids import TransactionalIds
from penstock.transactions.markers import MarkerSender
from penstock.transactions.records import tombstone, transaction_record
from penstock.transactions.state import Decision, Producer, TopicPartition, Transaction

log = logging.getLogger(__name__)

Ids = CoordinatorPartition[TransactionalIds]
Decide = Callable[[Transaction | None, int | None], Decision]

NO_PRODUCER = Producer(-1, -1)
TIMEOUT_MS_MAX = 2**31 - 1
_PATIENCE_S = 0.5
"""How long a request waits for the markers of the transaction before it: most are there in no time."""


class Answer(NamedTuple):
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
        self._sweepers: list[asyncio.Task[None]] = []

    @property
    def config(self) -> BrokerConfig:
        return self._controller.config

    # -- life -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load what is led here; requests are answered from now on."""
        self.partitions.start()
        loop = asyncio.get_running_loop()
        self._sweepers = [
            loop.create_task(
                self._repeat(self._abort_interval_ms, self.abort_timed_out), name="transaction abort"
            ),
            loop.create_task(
                self._repeat(self._expiry_interval_ms, self.expire), name="transactional id expiry"
            ),
        ]

    async def stop(self) -> None:
        for sweeper in self._sweepers:
            sweeper.cancel()
        await asyncio.gather(*self._sweepers, return_exceptions=True)
        await self.partitions.stop()
        await self._completions.stop()

    def apply(self, delta: MetadataDelta) -> None:
        """Follow one change of the metadata, after `Replicas` has."""
        self.partitions.apply(delta)

    def _resume(self, ids: Ids) -> None:
        for transaction in ids.state:
            if transaction.state.is_prepared:
                self._completions.begin(ids, transaction)

    # -- where a transactional id lives ---------------------------------------------------------------

    async def ready_home(self, transactional_id: str) -> bool:
        """See to it that the topic exists; whether the id's partition is led and loaded here, then."""
        if self.partitions.partition_count == 0:
            await self._create_topic(TRANSACTION_STATE)
        return await self.partitions.until_ready(transactional_id)

    # -- what producers ask ---------------------------------------------------------------------------

    async def init_producer(
        self,
        transactional_id: str,
        *,
        timeout_ms: int,
        expected: Producer | None = None,
        is_2pc: bool = False,
    ) -> Answer:
        """Give the id to a producer. A two-phase transaction (KIP-939) never times out."""
        if is_2pc:
            timeout_ms = TIMEOUT_MS_MAX
        elif not 0 < timeout_ms <= self.config[coordinators.TRANSACTION_MAX_TIMEOUT_MS]:
            return Answer(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
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
            return Answer(decided.error)
        return Answer(ErrorCode.NONE, Producer(after.producer_id, after.producer_epoch))

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
        """Say whether these are part of the producer's transaction, without making them so."""
        outcome: dict[TopicPartition, ErrorCode] = {}

        def look(before: Transaction | None, _: int | None) -> Decision:
            outcome.update(state.verify(before, producer, partitions))
            is_ending = ErrorCode.CONCURRENT_TRANSACTIONS in outcome.values()
            return Decision(ErrorCode.CONCURRENT_TRANSACTIONS if is_ending else ErrorCode.NONE)

        decided = await self._decide(transactional_id, look)
        return dict.fromkeys(partitions, decided.error) if decided.error else outcome

    async def end(
        self, transactional_id: str, producer: Producer, *, commit: bool, client_version: int
    ) -> Answer:
        """Decide a transaction; the answer tells with which id and epoch its producer goes on."""
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
            return Answer(decided.error)
        return Answer(ErrorCode.NONE, state.answer_to_end(now))

    # -- what operators ask ---------------------------------------------------------------------------

    def get(self, transactional_id: str) -> Transaction | ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        ids = self.partitions.find(transactional_id)
        if isinstance(ids, ErrorCode):
            return ids
        return ids.state.get(transactional_id) or ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    # -- deciding and storing -------------------------------------------------------------------------

    async def _decide(self, transactional_id: str, decide: Decide) -> Decision:
        """Decide and wait until that, and all that it rests on, is committed."""
        if not transactional_id:
            return Decision(ErrorCode.INVALID_REQUEST)
        new_producer_id: int | None = None
        is_patient = True
        while True:
            ids = self.partitions.find(transactional_id)
            if isinstance(ids, ErrorCode):
                return Decision(ids)
            decision = decide(ids.state.get(transactional_id), new_producer_id)
            if decision.needs_producer_id:
                try:
                    new_producer_id = await self._new_producer_id()
                except LogError:  # no room for a new block of ids
                    return Decision(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
                continue
            try:
                if decision.after is not None:
                    self._store(ids, decision.after)
                written = ids.state.writing.get(transactional_id)
                if written is not None:
                    await committed(written)
            except CoordinatorError as error:
                return Decision(error.code)
            if decision.error is not ErrorCode.CONCURRENT_TRANSACTIONS or not is_patient:
                return decision
            is_patient = False
            await self._completions.wait_for(transactional_id, _PATIENCE_S)

    def _store(self, ids: Ids, transaction: Transaction) -> "asyncio.Future[None]":
        """Write a transaction and know it from now on. Raises `CoordinatorError`, and then nothing is changed.

        Nothing is written while too few replicas are in sync: a write that fails has the partition loaded again, and
        each load sends the markers of all prepared transactions once more.
        """
        ids.require_in_sync()
        level = self._controller.image.features.finalized.get(TRANSACTION_VERSION, 0)
        record = transaction_record(transaction, is_flexible=level >= 1)
        written = ids.write(Change([record], partial(ids.state.put, transaction)))
        ids.state.writing[transaction.transactional_id] = written
        written.add_done_callback(lambda done: self._when_stored(ids, transaction, done))
        return written

    def _when_stored(self, ids: Ids, transaction: Transaction, written: "asyncio.Future[None]") -> None:
        writing = ids.state.writing
        if writing.get(transaction.transactional_id) is written:
            del writing[transaction.transactional_id]
        if written.exception() is None and transaction.state.is_prepared and ids.is_loaded:
            self._completions.begin(ids, transaction)

    # -- what nobody asks for -------------------------------------------------------------------------

    def _abort_interval_ms(self) -> int:
        return self.config[coordinators.TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS]

    def _expiry_interval_ms(self) -> int:
        return self.config[coordinators.TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS]

    async def _repeat(self, interval_ms: Callable[[], int], duty: Callable[[], None]) -> None:
        while True:
            await self._clock.sleep(interval_ms())
            try:
                duty()
            except Exception:
                log.exception("it is tried again in %d ms", interval_ms())

    def abort_timed_out(self) -> None:
        """Abort every transaction that took longer than its producer said it would."""
        now_ms = self._clock.now_ms()
        for ids, transaction in self._each():
            if state.is_timed_out(transaction, now_ms):
                log.info("the transaction of %s took too long: it is aborted", transaction.transactional_id)
                with self._until_next_time(ids):
                    self._store(ids, state.fence(transaction, now_ms=now_ms))

    def expire(self) -> None:
        """Forget transactional ids that nobody has used for long."""
        now_ms = self._clock.now_ms()
        expiration_ms = self.config[coordinators.TRANSACTIONAL_ID_EXPIRATION_MS]
        for ids, transaction in self._each():
            if state.is_expired(transaction, now_ms, expiration_ms):
                with self._until_next_time(ids):
                    transactional_id = transaction.transactional_id
                    forget = partial(ids.state.remove, transactional_id)
                    ids.require_in_sync()
                    ids.write(Change([tombstone(transactional_id, now_ms)], forget))

    def _each(self) -> Iterator[tuple[Ids, Transaction]]:
        """Every transaction led here that nobody is just writing."""
        for ids in self.partitions:
            for transaction in ids.state:
                if transaction.transactional_id not in ids.state.writing:
                    yield ids, transaction

    @staticmethod
    @contextlib.contextmanager
    def _until_next_time(ids: Ids) -> Iterator[None]:
        """A write that is refused is left for the next sweep."""
        try:
            yield
        except CoordinatorError as error:
            log.warning("cannot write to %s-%d now: %s", TRANSACTION_STATE, ids.number, error)
