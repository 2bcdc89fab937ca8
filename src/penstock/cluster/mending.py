"""Mends what has rotted in a log with the same batches of another replica, in place.

One leader writes to an offset in an epoch, so a batch that another replica has there in the same epoch is the one that
stood there, whether that replica is in sync or not: where followers cannot get past a leader's damage, none is. They
are asked as a consumer asks (KIP-392: any replica answers), and what they give is checked and written over the damage.
Nothing is cut, so a replica that is being mended has all that it had before: it stays in sync, and a leader leads on.
Until then the damaged batches are not given to anybody.

Where no replica has the same bytes (there is no other, or it has compacted them otherwise) that is said, and what lies
before and behind the damage stays readable.
"""

import asyncio
import logging

from penstock.cluster.peers import Peers
from penstock.cluster.replica import Replica
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.errors import CorruptRecords
from penstock.storage.damage import Damage
from penstock.storage.files import Buffer
from penstock.storage.log.errors import LogError
from penstock.storage.log.repair import LogRepair

log = logging.getLogger(__name__)

_FETCH, _FETCH_VERSION = 1, 17
_FETCH_BYTES = 1 << 20
_NO_SESSION = -1
_RETRY_MS = 500
_RETRY_MS_MAX = 60_000


class Mender:
    def __init__(self, node_id: int, peers: Peers, clock: Clock) -> None:
        self._node_id = node_id
        self._peers = peers
        self._clock = clock
        self._damaged: dict[Replica, None] = {}
        self._given_up: set[tuple[Replica, Damage]] = set()
        self._news = asyncio.Event()

    def note(self, replica: Replica) -> None:
        """There is damage in the log of this one."""
        self._damaged[replica] = None
        self._news.set()

    async def run(self) -> None:
        """Until cancelled."""
        delay_ms = _RETRY_MS
        while True:
            if not self._damaged:
                self._given_up.clear()
                delay_ms = _RETRY_MS
                self._news.clear()
                await self._news.wait()
            for replica in list(self._damaged):
                try:
                    await self._mend_all(replica)
                except Exception:
                    log.exception(
                        "%s-%d cannot be mended; it is tried again", replica.topic, replica.partition
                    )
                if not replica.log.damaged or replica.log.failure is not None:
                    self._damaged.pop(replica, None)
            if self._damaged:
                await self._clock.sleep(delay_ms)
                delay_ms = min(2 * delay_ms, _RETRY_MS_MAX)

    async def _mend_all(self, replica: Replica) -> None:
        for damage in list(replica.log.damaged):
            if damage.next_offset > replica.high_watermark:
                continue  # whether these records stay is not decided yet
            for broker_id in self._others(replica):
                if await self._mend(replica, damage, broker_id):
                    log.warning(
                        "%s-%d: mended %s with what broker %d has",
                        replica.topic,
                        replica.partition,
                        damage,
                        broker_id,
                    )
                    break
            else:
                self._report(replica, damage)
        await rebuild_producer_state(replica)

    def _others(self, replica: Replica) -> list[int]:
        """The other replicas, the leader first, then who holds all that is committed."""
        state = replica.state
        if state is None:
            return []
        others = [each for each in state.replicas if each != self._node_id]
        return sorted(others, key=lambda each: (each != state.leader, each not in state.isr, each))

    async def _mend(self, replica: Replica, damage: Damage, broker_id: int) -> bool:
        try:
            batches = await self._fetch(replica, damage, broker_id)
            return repair(replica, damage, batches)
        except (OSError, TimeoutError, ProtocolError, LogError, CorruptRecords) as error:
            log.debug("broker %d does not help: %s", broker_id, error)
            return False

    async def _fetch(self, replica: Replica, damage: Damage, broker_id: int) -> bytes:
        """Whole batches from where the damage begins, as many bytes as are damaged or, when they differ, others.

        Where their number is not known, all that begin below the end of the damage.
        """
        found = bytearray()
        offset = damage.base_offset
        while offset < damage.next_offset and not 0 < damage.size_bytes <= len(found):
            max_bytes = damage.size_bytes - len(found) if damage.has_known_size else _FETCH_BYTES
            wanted = FetchPartition(
                partition=replica.partition, fetch_offset=offset, partition_max_bytes=max_bytes
            )
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=max_bytes,
                session_epoch=_NO_SESSION,
                topics=[FetchTopic(topic_id=replica.topic_id, partitions=[wanted])],
            )
            response: FetchResponse = await self._peers.channel(broker_id).call(
                _FETCH, _FETCH_VERSION, request
            )
            records = _records_in(response)
            end = 0
            for position, header in iter_batches(records):
                if header.base_offset >= damage.next_offset:
                    break
                offset, end = header.next_offset, position + header.size_bytes
            if not end:
                break
            found += records[:end]
        return bytes(found)

    def _report(self, replica: Replica, damage: Damage) -> None:
        """Say it once: it is tried again and again. What was missing at the start has been said then."""
        if not replica.is_replicated and damage in [each.damage for each in replica.log.losses]:
            return
        if (replica, damage) not in self._given_up:
            self._given_up.add((replica, damage))
            log.error(
                "%s: no other replica has the same bytes for %s. They are not served, all else is. Restore the file "
                "from a backup, or have the partition reassigned to another broker that has it whole",
                replica.log.directory,
                damage,
            )


def repair(replica: Replica, damage: Damage, batches: Buffer) -> bool:
    """Take another replica's batches for damaged ones, if they are the same. Raises `OSError`."""
    is_repaired = LogRepair(replica.log).repair(damage, batches)
    if is_repaired:
        replica.deps.flusher.sync(replica.log)
        replica.wake_readers()
    return is_repaired


async def rebuild_producer_state(replica: Replica) -> None:
    """Replay the log if recovery had to skip damaged batches which have been repaired since."""
    if not replica.is_replicated:
        replica.log.producers.trust()
    if await LogRepair(replica.log).rebuild_producer_state(now_ms=replica.deps.clock.now_ms()):
        replica.log.producers.advance_high_watermark(replica.high_watermark)
        replica.wake_readers()


def _records_in(response: FetchResponse) -> bytes:
    """Raises `ProtocolError` for anything but records."""
    if response.error_code or len(response.responses) != 1 or len(response.responses[0].partitions) != 1:
        raise ProtocolError(f"no answer to a fetch: {ErrorCode(response.error_code).name}")
    data = response.responses[0].partitions[0]
    if data.error_code:
        raise ProtocolError(f"no records: {ErrorCode(data.error_code).name}")
    return bytes(data.records or b"")
