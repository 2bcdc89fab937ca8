"""Repairs damaged batches of a log in place, with the same batches of another replica.

Only one leader writes to an offset in an epoch. So a batch that another replica has at that offset, in the same epoch,
is the batch that was damaged, whether that replica is in sync or not: if followers cannot get past a leader's damage,
none of them is in sync. The repairer fetches as a consumer does (KIP-392: any replica answers), checks the batches and
writes them over the damage. The log is not truncated: the replica stays in sync, and a leader keeps leading. Until the
repair, readers do not get the damaged batches.

If no replica has the same bytes (there is no other, or its log was compacted differently), the repairer logs that. The
records before and after the damage stay readable.
"""

import asyncio
import logging

from penstock.cluster.peers import Peers
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.errors import CorruptRecords
from penstock.runtime.clock import Clock
from penstock.storage.damage.damage import Damage
from penstock.storage.errors import LogError
from penstock.storage.files import Buffer
from penstock.storage.log.repair import LogRepair

log = logging.getLogger(__name__)

_FETCH, _FETCH_VERSION = 1, 17
_FETCH_BYTES = 1 << 20
_NO_SESSION = -1
_RETRY_MS = 500
_RETRY_MS_MAX = 60_000


class DamageRepairer:
    def __init__(self, node_id: int, peers: Peers, clock: Clock) -> None:
        self._node_id = node_id
        self._peers = peers
        self._clock = clock
        self._damaged: dict[Replica, None] = {}
        self._reported: set[tuple[Replica, Damage]] = set()
        self._wakeup = asyncio.Event()

    def on_damage(self, replica: Replica) -> None:
        """Repair the log of this replica as soon as possible."""
        self._damaged[replica] = None
        self._wakeup.set()

    async def run(self) -> None:
        """Until cancelled."""
        delay_ms = _RETRY_MS
        while True:
            if not self._damaged:
                self._reported.clear()
                delay_ms = _RETRY_MS
                self._wakeup.clear()
                await self._wakeup.wait()
            for replica in list(self._damaged):
                try:
                    await self._repair_all(replica)
                except Exception:
                    log.exception("Repair of %s-%d failed, retrying", replica.topic, replica.partition)
                if not replica.log.damaged or replica.log.failure is not None:
                    self._damaged.pop(replica, None)
            if self._damaged:
                await self._clock.sleep(delay_ms)
                delay_ms = min(2 * delay_ms, _RETRY_MS_MAX)

    async def _repair_all(self, replica: Replica) -> None:
        for damage in list(replica.log.damaged):
            if damage.next_offset > replica.high_watermark:
                continue  # these records are not committed yet
            for broker_id in self._others(replica):
                if await self._repair(replica, damage, broker_id):
                    log.warning(
                        "Repaired %s-%d: %s. source=%d",
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
        """The other replicas: first the leader, then the in-sync replicas."""
        state = replica.state
        if state is None:
            return []
        others = [each for each in state.replicas if each != self._node_id]
        return sorted(others, key=lambda each: (each != state.leader, each not in state.isr, each))

    async def _repair(self, replica: Replica, damage: Damage, broker_id: int) -> bool:
        try:
            batches = await self._fetch(replica, damage, broker_id)
            return repair(replica, damage, batches)
        except (OSError, TimeoutError, ProtocolError, LogError, CorruptRecords) as error:
            log.debug("Cannot repair from broker %d: %s", broker_id, error)
            return False

    async def _fetch(self, replica: Replica, damage: Damage, broker_id: int) -> bytes:
        """Fetch whole batches from the first damaged offset on: as many bytes as are damaged.

        If that number is not known, fetch all batches that begin below the end of the damage.
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
        """Log each failed repair once, although it is retried. Records missing at the start were logged then."""
        if not replica.is_replicated and damage in [each.damage for each in replica.log.losses]:
            return
        if (replica, damage) not in self._reported:
            self._reported.add((replica, damage))
            log.error(
                "Cannot repair %s: no other replica has the same bytes for %s. These records are not served. Restore "
                "the file from a backup, or reassign the partition to a broker that has all of it",
                replica.log.directory,
                damage,
            )


def repair(replica: Replica, damage: Damage, batches: Buffer) -> bool:
    """Replace damaged batches with another replica's, if they are the same batches. Raises `OSError`."""
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
    """Raises `ProtocolError` if the response has no records."""
    if response.error_code or len(response.responses) != 1 or len(response.responses[0].partitions) != 1:
        raise ProtocolError(f"no answer to a fetch: {ErrorCode(response.error_code).name}")
    data = response.responses[0].partitions[0]
    if data.error_code:
        raise ProtocolError(f"no records: {ErrorCode(data.error_code).name}")
    return bytes(data.records or b"")
