"""The partitions of a coordinator's topic that this broker leads, loaded and dropped as the leadership moves."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.loading import Replayed, describe_gaps
from penstock.cluster.coordination.partition import CoordinatorPartition, StallChecks
from penstock.cluster.coordination.placement import partition_for
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.errors import CorruptRecords
from penstock.runtime.clock import Clock
from penstock.runtime.completion import Completion
from penstock.storage.errors import LogError

log = logging.getLogger(__name__)

_STOP_S_MAX = 5.0
_READY_S_MAX = 5.0  # clients wait for an answer for half a minute and more
_NO_BROKER = -1
_REPAIR_CHECK_MS = 1_000
_RELOAD_PAUSE_MS = 100
"""The pause before a partition is loaded again: a load may write, and be refused each time."""

S = TypeVar("S", bound=Replayed)
T = TypeVar("T")


class CoordinatorPartitions(Generic[S]):
    """Follows the metadata, after `Replicas`. Calls `on_loaded` and `on_ended` for each partition."""

    def __init__(
        self,
        topic: str,
        node_id: int,
        image: MetadataImage,
        replicas: Replicas,
        clock: Clock,
        *,
        make_state: Callable[[], S],
        on_loaded: Callable[[CoordinatorPartition[S]], None],
        on_ended: Callable[[CoordinatorPartition[S]], None],
        codec: Codec = Codec.NONE,
        write_timeout_ms: int | None = None,
    ) -> None:
        self.topic = topic
        self._node_id = node_id
        self._image = image
        self._replicas = replicas
        self._clock = clock
        self._make_state = make_state
        self._on_loaded = on_loaded
        self._on_ended = on_ended
        self._codec = codec
        self._stall_checks = None if write_timeout_ms is None else StallChecks[S](clock, write_timeout_ms)
        self._led: dict[int, CoordinatorPartition[S]] = {}
        self._loads: dict[int, asyncio.Task[None]] = {}
        self._followed: dict[int, tuple[bytes, int]] = {}
        """The topic id and leader epoch that `apply` saw last; the image may be ahead of it."""
        self._on_followed = asyncio.Event()
        self._repairs: dict[int, asyncio.Task[None]] = {}
        """Tasks that wait for the repair of damaged records, by the partition that was loaded without them."""
        self._turn = asyncio.Semaphore(1)  # loads go one by one: serving comes first
        self._is_active = False

    def __iter__(self) -> Iterator[CoordinatorPartition[S]]:
        """The partitions that are led and loaded."""
        return (each for each in list(self._led.values()) if each.is_loaded and each.leads)

    @property
    def partition_count(self) -> int:
        """0 while the topic does not exist."""
        topic = self._image.topics.get(self.topic)
        return 0 if topic is None else len(topic.partitions)

    @property
    def is_loading(self) -> bool:
        return bool(self._loads)

    def find(self, key: str) -> CoordinatorPartition[S] | ErrorCode:
        """The partition of a group or transactional id, if it is led and loaded here."""
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        count = self.partition_count
        return self.led(partition_for(key, count)) if count else ErrorCode.NOT_COORDINATOR

    def led(self, number: int) -> CoordinatorPartition[S] | ErrorCode:
        """One partition, if it is led and loaded here."""
        partition = self._led.get(number)
        if partition is not None and partition.leads and partition.is_loaded:
            return partition
        # Some clients avoid a broker for long after NOT_COORDINATOR: answer that only when it is final.
        will_lead = self._is_loading(number)
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if will_lead else ErrorCode.NOT_COORDINATOR

    def leader_of(self, key: str) -> int:
        """The broker that leads the partition of a group or transactional id, -1 for none."""
        count = self.partition_count
        home = self._image.partition(self.topic, partition_for(key, count)) if count else None
        return _NO_BROKER if home is None else home.leader

    async def wait_until_ready(self, key: str) -> bool:
        """Wait until a key's partition is loaded here, if this broker leads it in the metadata.

        Returns False if another broker leads it, the load has failed, or it takes longer than clients should wait.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READY_S_MAX):
                while (count := self.partition_count) and self._is_loading(
                    number := partition_for(key, count)
                ):
                    await self._wait_for_load(number)
        return self._is_active and not isinstance(self.find(key), ErrorCode)

    def _is_loading(self, number: int) -> bool:
        """Whether this broker leads a partition in the metadata, and has yet to load it."""
        topic = self._image.topics.get(self.topic)
        partition = None if topic is None else topic.partitions.get(number)
        if topic is None or partition is None or partition.leader != self._node_id or not self._is_active:
            return False
        is_followed = self._followed.get(number) == (topic.topic_id, partition.leader_epoch)
        return not is_followed or number in self._loads

    async def _wait_for_load(self, number: int) -> None:
        load = self._loads.get(number)
        if load is None:
            await self._on_followed.wait()
        else:
            await asyncio.wait([load])

    async def after_commit(self, key: str, found: T) -> T | ErrorCode:
        """Return `found`, which was read from a key's partition, once all of its state is committed."""
        partition = self.find(key)
        if isinstance(partition, ErrorCode):
            return partition
        return await _after(partition.pending_commit(), found)

    async def read_committed(self, read: Callable[[S], Iterable[T]]) -> list[T] | ErrorCode:
        """Call `read` with the state of each partition led and loaded here; returns once all of that is committed."""
        parts = [(list(read(each.state)), each.pending_commit()) for each in self]
        found: list[T] = []
        for part, pending in parts:
            outcome = await _after(pending, part)
            if not isinstance(outcome, ErrorCode):
                found += outcome
            elif outcome is not ErrorCode.NOT_COORDINATOR:  # another broker leads it now, and answers for it
                return outcome
        return found

    # -- life -----------------------------------------------------------------------------------------

    def start(self) -> None:
        self._is_active = True
        topic = self._image.topics.get(self.topic)
        if topic is not None:
            for number, partition in topic.partitions.items():
                # `apply` has yet to be called for the others.
                if self._replicas.get(self.topic, number) is not None:
                    self._followed[number] = (topic.topic_id, partition.leader_epoch)
                self._follow(number)

    async def stop(self) -> None:
        """Refuse new writes, and wait for the commit of earlier ones: their clients need not retry."""
        self._is_active = False
        under_way = [
            asyncio.ensure_future(_after(each.pending_commit(), None)) for each in self._led.values()
        ]
        if under_way:
            await asyncio.wait(under_way, timeout=_STOP_S_MAX)
        loads = list(self._loads.values())
        for number in list(self._led):
            self._drop(number)
        await asyncio.gather(*loads, return_exceptions=True)
        if self._stall_checks is not None:
            self._stall_checks.stop()

    async def wait_until_loaded(self, number: int | None = None) -> None:
        """Wait for the load of one partition, or of all that are being loaded now."""
        wanted = self._loads.values() if number is None else [self._loads.get(number)]
        loads = [each for each in wanted if each is not None]
        if loads:
            await asyncio.wait(loads)

    def apply(self, delta: MetadataDelta) -> None:
        if not self._is_active:
            return
        for topic in delta.topics_deleted.values():
            if topic.name == self.topic:
                for number in list(self._led):
                    self._drop(number)
        for change in delta.partitions.values():
            if change.topic.name == self.topic:
                self._followed[change.partition] = (change.topic.topic_id, change.after.leader_epoch)
                self._follow(change.partition)
        self._on_followed.set()
        self._on_followed = asyncio.Event()

    def _follow(self, number: int, pause_ms: int = 0) -> None:
        """Load a partition, after a pause, if this broker leads it in a new epoch; drop it if it no longer leads it."""
        replica = self._replicas.get(self.topic, number)
        led = self._led.get(number)
        if led is not None:
            if replica is led.replica and replica.leader_epoch == led.leader_epoch:
                return
            self._drop(number)
        if replica is not None and replica.leader_id == self._node_id:
            self._begin_load(replica, pause_ms)

    def _begin_load(self, replica: Replica, pause_ms: int) -> None:
        partition = CoordinatorPartition(
            replica,
            self._make_state(),
            self._clock,
            codec=self._codec,
            stall_checks=self._stall_checks,
            on_failure=self._reload,
        )
        self._led[partition.number] = partition
        if replica.is_open and replica.log.log_end_offset == replica.log.log_start_offset:
            partition.is_loaded = True  # a new topic: its first client need not wait
            self._on_loaded(partition)
            return
        self._loads[partition.number] = asyncio.get_running_loop().create_task(
            self._load(partition, pause_ms), name=f"load {self.topic}-{partition.number}"
        )

    async def _load(self, partition: CoordinatorPartition[S], pause_ms: int) -> None:
        try:
            if pause_ms:
                await self._clock.sleep(pause_ms)
            if isinstance(self._replicas.leader_of(self.topic, partition.number), Replica):
                await partition.load(self._turn)
        except (LogError, CorruptRecords, OSError) as error:
            log.error(  # noqa: TRY400  the message has the reason
                "Cannot load %s-%d from %s: %s. Its groups or transactions are not served: restore the file from "
                "another replica or a backup, and restart the broker",
                self.topic,
                partition.number,
                partition.replica.log.directory,
                error,
            )
        finally:
            if self._loads.get(partition.number) is asyncio.current_task():
                del self._loads[partition.number]
        if partition.is_loaded:
            if partition.gaps:
                self._report_gaps(partition)
            self._on_loaded(partition)

    def _report_gaps(self, partition: CoordinatorPartition[S]) -> None:
        log.error(
            "Loaded %s-%d without damaged records: %s",
            self.topic,
            partition.number,
            describe_gaps(partition.replica, partition.gaps),
        )
        self._repairs[partition.number] = asyncio.get_running_loop().create_task(
            self._load_again_when_repaired(partition), name=f"repair {self.topic}-{partition.number}"
        )

    async def _load_again_when_repaired(self, partition: CoordinatorPartition[S]) -> None:
        """Wait for a repair: another replica may have been down when the partition was loaded."""
        while all(gap.damage in partition.replica.log.damaged for gap in partition.gaps):
            await self._clock.sleep(_REPAIR_CHECK_MS)
        self._repairs.pop(partition.number)
        if self._is_active and self._led.get(partition.number) is partition:
            log.warning("Reloading %s-%d: its damaged records were repaired", self.topic, partition.number)
            self._drop(partition.number)
            self._follow(partition.number)

    def _reload(self, partition: CoordinatorPartition[S]) -> None:
        """Load the partition again: its log refused a write, so the state is ahead of the log."""
        if self._led.get(partition.number) is not partition:
            return
        self._drop(partition.number)
        if partition.replica.log.failure is not None:
            log.error("Coordinator of %s-%d stopped: its log has failed", self.topic, partition.number)
        elif self._is_active:
            log.warning("Reloading %s-%d: a write to it failed", self.topic, partition.number)
            self._follow(partition.number, _RELOAD_PAUSE_MS)

    def _drop(self, number: int) -> None:
        partition = self._led.pop(number)
        load = self._loads.pop(number, None)
        if load is not None:
            load.cancel()
        repair = self._repairs.pop(number, None)
        if repair is not None:
            repair.cancel()
        was_loaded = partition.is_loaded
        partition.end()
        if was_loaded:
            self._on_ended(partition)


async def _after(pending: Completion[None] | None, found: T) -> T | ErrorCode:
    if pending is not None:
        try:
            await pending
        except CoordinatorError as error:
            return error.code
    return found
