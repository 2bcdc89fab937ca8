"""Completes decided transactions: writes a marker to every partition, and then the end of the transaction."""

import asyncio
import logging
from collections.abc import Callable, Iterator

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import Clock
from penstock.transactions import state
from penstock.transactions.ids import TransactionalIds
from penstock.transactions.markers import Marker, MarkerSender
from penstock.transactions.state import TopicPartition, Transaction
from penstock.transactions.states import State

log = logging.getLogger(__name__)

_RETRY_MS_FIRST = 20
_RETRY_MS_MAX = 1000

Ids = CoordinatorPartition[TransactionalIds]


class Completions:
    """Runs one task for each prepared transaction; `store` writes a complete transaction."""

    def __init__(
        self,
        image: MetadataImage,
        clock: Clock,
        markers: MarkerSender,
        store: "Callable[[Ids, Transaction], asyncio.Future[None]]",
    ) -> None:
        self._image = image
        self._clock = clock
        self._markers = markers
        self._store = store
        self._tasks: dict[str, tuple[Ids, asyncio.Task[None]]] = {}
        self._marked: dict[str, asyncio.Future[None]] = {}  # done when every partition has its marker

    def begin(self, ids: Ids, prepared: Transaction) -> None:
        transactional_id = prepared.transactional_id
        loop = asyncio.get_running_loop()
        marked = self._marked[transactional_id] = loop.create_future()
        task = loop.create_task(self._complete(ids, prepared, marked), name=f"complete {transactional_id}")
        self._tasks[transactional_id] = ids, task
        task.add_done_callback(lambda done: self._forget(transactional_id, done, marked))

    def _forget(
        self, transactional_id: str, task: "asyncio.Task[None]", marked: "asyncio.Future[None]"
    ) -> None:
        if not marked.done():
            marked.set_result(None)
        known = self._tasks.get(transactional_id)
        if known is not None and known[1] is task:
            del self._tasks[transactional_id]
            del self._marked[transactional_id]
        if not task.cancelled() and task.exception() is not None:
            log.error(
                "Cannot complete a transaction. transactional_id=%s",
                transactional_id,
                exc_info=task.exception(),
            )

    async def wait_for(self, transactional_id: str, timeout_s: float) -> None:
        """Wait until all partitions have the markers of the id's last transaction, but no longer than the timeout.

        The record of that need not be awaited: later records come after it.
        """
        marked = self._marked.get(transactional_id)
        if marked is not None:
            await asyncio.wait([marked], timeout=timeout_s)

    def stop_for(self, ids: Ids) -> None:
        """Stop for a partition that moves to another broker, or that this broker loads again."""
        for owner, task in list(self._tasks.values()):
            if owner is ids:
                task.cancel()

    async def stop(self) -> None:
        tasks = [task for _, task in self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _complete(self, ids: Ids, prepared: Transaction, marked: "asyncio.Future[None]") -> None:
        if not await self._mark_all(ids, prepared):
            return
        try:
            written = await self._store_end(ids, prepared)
            marked.set_result(None)
            await wait_for_write(written)
        except CoordinatorError as error:
            # The next broker that loads the partition sends the markers again and retries.
            log.warning(
                "Cannot persist the completion of a transaction: %s. transactional_id=%s",
                error,
                prepared.transactional_id,
            )

    async def _store_end(self, ids: Ids, prepared: Transaction) -> "asyncio.Future[None]":
        """Write that the transaction is complete. Raises `CoordinatorError` when this broker no longer leads.

        Any other error does not make the partition load again: without a retry the transaction would stay prepared,
        and its producer could never begin the next transaction. Too few replicas may be in sync, or the record may be
        too large for the topic until an administrator raises its limit.
        """
        delays_ms = _retry_delays_ms()
        while True:
            delay_ms = next(delays_ms)
            try:
                return self._store(ids, state.complete(prepared, now_ms=self._clock.now_ms()))
            except CoordinatorError as error:
                if not ids.leads:
                    raise
                if delay_ms == _RETRY_MS_FIRST:  # one line for all attempts
                    log.warning(
                        "Retrying to persist the completion of a transaction: %s. transactional_id=%s",
                        error,
                        prepared.transactional_id,
                    )
            await self._clock.sleep(delay_ms)

    async def _mark_all(self, ids: Ids, prepared: Transaction) -> bool:
        """Send markers until every partition has one. Return False when another coordinator took over."""
        marker = Marker(
            producer_id=prepared.producer_id,
            producer_epoch=prepared.producer_epoch,
            is_commit=prepared.state is State.PREPARE_COMMIT,
            coordinator_epoch=ids.leader_epoch,
            transaction_version=prepared.client_version,
        )
        unmarked = set(prepared.partitions)
        delays_ms = _retry_delays_ms()
        while unmarked:
            try:
                outcomes = await self._markers.send(marker, sorted(unmarked))
            except Exception:  # of any kind: readers wait for these markers
                log.exception(
                    "Cannot send transaction markers. transactional_id=%s", prepared.transactional_id
                )
                outcomes = {}
            for target, code in outcomes.items():
                if code is ErrorCode.TRANSACTION_COORDINATOR_FENCED:
                    log.warning(
                        "Fenced by a newer coordinator of the transaction. transactional_id=%s",
                        prepared.transactional_id,
                    )
                    return False
                if self._is_done(prepared, target, code):
                    unmarked.discard(target)
            if unmarked:
                await self._clock.sleep(next(delays_ms))
        return True

    def _is_done(self, prepared: Transaction, target: TopicPartition, code: ErrorCode) -> bool:
        if code is ErrorCode.NONE:
            return True
        if code is ErrorCode.INVALID_PRODUCER_EPOCH:
            log.warning(
                "Skipped a transaction marker: the partition has a newer epoch of the producer. partition=%s-%d "
                "transactional_id=%s",
                *target,
                prepared.transactional_id,
            )
            return True
        is_deleted = self._image.partition(*target) is None
        if not is_deleted:
            log.info(
                "Retrying to write a transaction marker: %s. partition=%s-%d transactional_id=%s",
                code.name,
                *target,
                prepared.transactional_id,
            )
        return is_deleted


def _retry_delays_ms() -> Iterator[int]:
    delay_ms = _RETRY_MS_FIRST
    while True:
        yield delay_ms
        delay_ms = min(2 * delay_ms, _RETRY_MS_MAX)


async def wait_for_write(written: "asyncio.Future[None]") -> None:
    """Wait for a write that others may also wait for. Raises `CoordinatorError`."""
    await asyncio.wait([written])
    written.result()
