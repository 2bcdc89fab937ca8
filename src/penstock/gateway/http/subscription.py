"""A member of a consumer group (KIP-848) whose consumer is at the other end of a WebSocket.

Three things run concurrently: heartbeats to the coordinator, which bring assignments; fetches of the assigned
partitions, as far as the window of unacknowledged records allows; and the subscriber's commits. Revoked partitions are
not read any more; the subscriber has a few seconds to commit before the revocation is confirmed.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from penstock.client.aio import BrokerError, Client, FetchLimits, TopicPartition, coordinator_of_group
from penstock.client.aio.reader import Reader
from penstock.client.blocking.client import EARLIEST, LATEST
from penstock.client.core.membership import Change, Membership, Owned
from penstock.console.broker_errors import CONFLICT, TIMED_OUT
from penstock.gateway.http import subscription_messages as messages
from penstock.gateway.http.problems import Problem, of_code
from penstock.gateway.http.record_forms import record_form
from penstock.gateway.http.starts import ends
from penstock.gateway.http.subscription_messages import Commit, OffsetForm, Rebalanced, SubscriberMessage
from penstock.gateway.http.window import Window
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from penstock.protocol.records.record import Record

Send = Callable[[dict[str, Any]], Awaitable[None]]

_REVOKE_MS: Final = 5_000
_REBALANCE_TIMEOUT_MS: Final = 60_000
_WAIT_MS: Final = 500
_BYTES_MAX: Final = 512 * 1024
_MESSAGE_RECORDS_MAX: Final = 500
_MESSAGE_BYTES_MAX: Final = 256 * 1024
_FENCED: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)


class SubscribeRequest(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    topics: tuple[str, ...]
    reset: str = "latest"
    window: int = 1_000
    form: str = "text"
    reads_committed_only: bool = False
    processing_ms_max: int = 300_000


class _Pending(NamedTuple):
    where: TopicPartition
    record: Record


class Subscription:
    def __init__(self, client: Client, request: SubscribeRequest, member_id: str) -> None:
        self._client = client
        self._request = request
        self._membership = Membership(
            request.group, request.topics, member_id=member_id, rebalance_timeout_ms=_REBALANCE_TIMEOUT_MS
        )
        limits = FetchLimits(
            wait_ms=_WAIT_MS,
            bytes_max=_BYTES_MAX,
            partition_bytes_max=_BYTES_MAX,
            records_max=request.window,
            reads_committed_only=request.reads_committed_only,
        )
        self._reader = Reader(client.branch(), limits)
        self._window = Window(request.window)
        self._pending: deque[_Pending] = deque()
        self._names: dict[bytes, str] = {}
        self._first: Change
        self._confirmed = asyncio.Event()
        self._room = asyncio.Event()
        self._revoking: asyncio.TimerHandle | None = None
        self._send: Send

    # -- life

    async def join(self) -> None:
        """Become a member. Raises the coordinator's error."""
        self._first = await self._heartbeat()

    async def run(self, send: Send) -> None:
        """Deliver records until cancelled, or raise the failure."""
        self._send = send
        member = self._membership
        await send(messages.joined(self._request.group, member.member_id, member.epoch))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send_heartbeats())
            tasks.create_task(self._deliver())

    async def leave(self) -> None:
        """Leave the group, so that others get the partitions at once."""
        if self._revoking is not None:
            self._revoking.cancel()
        last_heartbeat = self._membership.leave()
        await self._reader.close()
        if last_heartbeat is not None:
            with contextlib.suppress(Exception):
                await self._client.request(self._coordinator, last_heartbeat, deadline_ms=2_000)

    async def on_message(self, message: SubscriberMessage) -> None:
        """Handle a message of the subscriber. Raises `Problem` for an invalid one."""
        if isinstance(message, Rebalanced):
            self._confirm()
            return
        errors = await self._commit(message.offsets) if isinstance(message, Commit) else {}
        for each in message.offsets:
            if each.where not in errors:
                self._window.acknowledge(each.where, each.offset)
        if self._window.room > 0:
            self._room.set()
        if isinstance(message, Commit):
            await self._send(messages.committed(message, errors))

    # -- the group

    @property
    def _coordinator(self) -> Any:
        return coordinator_of_group(self._request.group)

    async def _heartbeat(self) -> Change:
        response: ConsumerGroupHeartbeatResponse = await self._client.request(
            self._coordinator,
            self._membership.heartbeat(),
            error_of=lambda answer: 0 if answer.error_code in _FENCED else int(answer.error_code),
        )
        return self._membership.on_response(response)

    async def _send_heartbeats(self) -> None:
        await self._apply(self._first)
        while True:
            if not self._membership.must_report:
                await self._wait_for_heartbeat()
            if self._take_confirmation():
                await self._apply(self._membership.confirm())
            else:
                await self._apply(await self._heartbeat())

    async def _wait_for_heartbeat(self) -> None:
        """Wait until the next heartbeat is due, or the subscriber has confirmed the revocation."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._membership.heartbeat_interval_ms / 1000):
                await self._confirmed.wait()

    def _take_confirmation(self) -> bool:
        is_confirmed = self._confirmed.is_set()
        self._confirmed.clear()
        return is_confirmed

    async def _apply(self, change: Change) -> None:
        epoch = self._membership.epoch
        if change.lost:
            self._revoking = None  # all partitions are lost
            lost = await self._revoke(change.lost)
            await self._send(messages.rebalance(epoch, revoked=lost, is_lost=True))
        if change.revoked:
            revoked = await self._revoke(change.revoked)
            await self._send(messages.rebalance(epoch, revoked=revoked))
            self._revoking = asyncio.get_running_loop().call_later(_REVOKE_MS / 1000, self._confirm)
        if change.assigned:
            positions = await self._positions(await self._named(change.assigned))
            await self._send(messages.rebalance(epoch, assigned=positions))
            self._reader.assign(positions)

    def _confirm(self) -> None:
        if self._revoking is not None:
            self._revoking.cancel()
            self._revoking = None
            self._confirmed.set()

    async def _revoke(self, partitions: Owned) -> list[TopicPartition]:
        """Stop sending records of these partitions."""
        gone = await self._named(partitions)
        for where in gone:
            self._reader.revoke(where)
            self._window.forget(where)
        self._pending = deque(each for each in self._pending if each.where not in gone)
        self._room.set()
        return gone

    async def _named(self, partitions: Owned) -> list[TopicPartition]:
        if any(topic_id not in self._names for topic_id, _ in partitions):
            topics = (await self._client.metadata(self._request.topics)).topics
            self._names = self._names | {topic.topic_id: name for name, topic in topics.items()}
        return [
            TopicPartition(self._names[topic_id], partition)
            for topic_id, partition in partitions
            if topic_id in self._names  # else it was deleted meanwhile
        ]

    async def _positions(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The committed offsets, or the subscriber's reset position."""
        positions = await self._client.committed(self._request.group, partitions)
        for where in partitions:
            if where not in positions:
                positions[where] = await self._reset_offset(where)
        return positions

    async def _reset_offset(self, where: TopicPartition) -> int:
        if self._request.reset == "none":
            raise Problem(
                CONFLICT,
                f"Group {self._request.group} has no valid offset in {where}: commit one, or use "
                "reset=earliest or reset=latest.",
            )
        at = EARLIEST if self._request.reset == "earliest" else LATEST
        return (await ends(self._client, where.topic, [where.partition], at))[where.partition]

    # -- commits

    async def _commit(self, offsets: Sequence[OffsetForm]) -> dict[TopicPartition, Problem]:
        """The problem of each partition that has one. A partition that has moved belongs to another member."""
        owned = set(await self._named(self._membership.owned))
        errors = {
            each.where: Problem(CONFLICT, f"{each.where} is not assigned to this member.")
            for each in offsets
            if each.where not in owned
        }
        wanted = [each for each in offsets if each.where in owned]
        if not wanted:
            return errors
        codes = await self._committed(wanted)
        if ErrorCode.STALE_MEMBER_EPOCH in codes.values():  # a heartbeat has brought a newer epoch
            codes = await self._committed(wanted)
        return errors | {
            where: of_code(code, f"Committing in {where}") for where, code in codes.items() if code
        }

    async def _committed(self, offsets: Sequence[OffsetForm]) -> dict[TopicPartition, int]:
        return await self._client.commit(
            self._request.group,
            {each.where: each.offset for each in offsets},
            member_id=self._membership.member_id,
            member_epoch=self._membership.epoch,
        )

    # -- records

    async def _deliver(self) -> None:
        while True:
            for where, fetched in (await self._reader.next()).items():
                if fetched.error == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._reader.assign({where: await self._reset_offset(where)})
                elif fetched.error:
                    raise BrokerError(fetched.error, f"Reading {where}")
                elif where in self._reader.positions:  # not revoked meanwhile
                    self._pending.extend(_Pending(where, record) for record in fetched.records)
            while self._pending:
                await self._wait_for_room()
                records = self._next_records()
                if records:
                    await self._send({"type": "records", "records": records})

    async def _wait_for_room(self) -> None:
        while self._window.room <= 0:
            self._room.clear()
            try:
                async with asyncio.timeout(self._request.processing_ms_max / 1000):
                    await self._room.wait()
            except TimeoutError:
                raise Problem(
                    TIMED_OUT,
                    f"Nothing was acknowledged for {self._request.processing_ms_max} ms: other members take over. "
                    "Commit or acknowledge records sooner, or raise max_processing_ms.",
                ) from None

    def _next_records(self) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = []
        size_bytes = 0
        room = min(self._window.room, _MESSAGE_RECORDS_MAX)
        while self._pending and len(records) < room and size_bytes < _MESSAGE_BYTES_MAX:
            where, record = self._pending.popleft()
            size_bytes += len(record.value or b"") + len(record.key or b"")
            self._window.sent(where, record.offset)
            records.append(record_form(where.topic, where.partition, record, self._request.form))
        return records
