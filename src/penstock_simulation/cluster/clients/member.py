"""A member of a consumer group (KIP-848): it owns partitions, reads them, commits its position, and releases them.

It commits after it has processed the records, so a record may be processed twice, and none is skipped.
"""

import asyncio
from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.clients.client import Client, CoordinatorClient, NoAnswer, check_error
from penstock_simulation.cluster.clients.group import Group, new_member_id
from penstock_simulation.cluster.clients.reader import Reader
from penstock_simulation.cluster.clients.requests import fetch_offsets
from penstock_simulation.cluster.values import PartitionName

_HEARTBEAT, _COMMIT = (68, 1), (8, 9)
JOIN_EPOCH, LEAVE_EPOCH = 0, -1
FENCED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})
_INTERVAL_S = 0.4


class Member:
    """`rebalance_ms` must be at least the session timeout: by then a silent member has released its partitions."""

    def __init__(self, client: Client, group: str, topic: str, topic_id: bytes, rebalance_ms: int) -> None:
        self._client = client
        self._checker = client.history.group
        self._group = group
        self._topic = topic
        self._topic_id = topic_id
        self._rebalance_ms = rebalance_ms
        self.member_id = new_member_id(client)
        self._epoch = JOIN_EPOCH
        self._coordinator = CoordinatorClient(client, group)
        self.positions: dict[int, int | None] = {}
        """The position in each partition that it owns; None until it has fetched the committed offset."""
        self._committed: dict[int, int] = {}

    async def run(self, life_s: float) -> None:
        """Take part for this long; then leave, or fall silent."""
        end_s = self._client.now_s + life_s
        while self._client.now_s < end_s:
            try:
                await self._heartbeat()
                await self._work()
            except NoAnswer:
                self._coordinator.forget()
            await asyncio.sleep(self._client.random.uniform(0.5, 1.5) * _INTERVAL_S)
        if self._client.random.random() < 0.5:
            await self._leave()

    # -- membership -----------------------------------------------------------------------------------

    async def _heartbeat(self) -> None:
        """Send the full state each time: then every answer has the whole assignment, even after a lost one."""
        sent_s = self._client.now_s
        coordinator = await self._coordinator.address()
        owned = [{"topic_id": self._topic_id, "partitions": sorted(self.positions)}] if self.positions else []
        response = await self._ask_heartbeat(
            self._epoch,
            rebalance_timeout_ms=self._rebalance_ms,
            subscribed_topic_names=[self._topic],
            topic_partitions=owned,
        )
        if response.error_code in FENCED:
            self._release(set(self.positions))
            self._epoch = JOIN_EPOCH
            return
        check_error(response.error_code)
        self._epoch = response.member_epoch
        self._checker.on_heartbeat(self.member_id, sent_s, coordinator[0])
        if response.assignment is not None:
            topics = response.assignment.topic_partitions
            await self._on_assignment({number for each in topics for number in each.partitions})

    async def _ask_heartbeat(self, epoch: int, **fields: Any) -> Any:
        return await self._coordinator.ask(
            _HEARTBEAT, group_id=self._group, member_id=self.member_id, member_epoch=epoch, **fields
        )

    async def _on_assignment(self, assigned: set[int]) -> None:
        now_s = self._client.now_s
        for number in sorted(assigned - set(self.positions)):
            self.positions[number] = None
            self._checker.on_assigned(self.member_id, (self._topic, number), now_s)
        revoked = set(self.positions) - assigned
        if revoked:
            self._checker.on_revoked(self.member_id)
            try:
                await self._commit(revoked)
            finally:
                self._release(revoked)

    def _release(self, numbers: set[int]) -> None:
        for number in sorted(numbers):
            del self.positions[number]
            self._committed.pop(number, None)
            self._checker.on_released(self.member_id, (self._topic, number))

    async def _leave(self) -> None:
        self._release(set(self.positions))
        try:
            await self._ask_heartbeat(LEAVE_EPOCH)
        except NoAnswer:
            self._coordinator.forget()

    # -- records and offsets --------------------------------------------------------------------------

    async def _work(self) -> None:
        for number in sorted(self.positions):
            if self.positions.get(number) is None:
                self.positions[number] = max(await self._committed_offset((self._topic, number)), 0)
            await self._read(number)
        await self._commit(set(self.positions))

    async def _committed_offset(self, partition: PartitionName) -> int:
        member = (self.member_id, self._epoch)
        return await committed_offset(self._client, self._coordinator, self._group, partition, member)

    async def _read(self, number: int) -> None:
        position = self.positions.get(number)
        if position is None:
            return
        partition: PartitionName = (self._topic, number)
        on_read = self._client.history.records.on_read
        reader = Reader(self._client, partition, on_read, begin=position)
        for offset, value in await reader.read(await self._client.leader_of(partition)) or ():
            on_read(partition, offset, value)
        self.positions[number] = reader.next_offset

    async def _commit(self, numbers: set[int]) -> None:
        for number in sorted(numbers):
            offset = self.positions.get(number)
            if offset is not None and offset != self._committed.get(number):
                await self._commit_one((self._topic, number), offset)

    async def _commit_one(self, partition: PartitionName, offset: int) -> None:
        sent_s = self._client.now_s
        self._checker.on_commit_sent(partition, offset, sent_s)
        coordinator = await self._coordinator.address()
        wanted = {"partition_index": partition[1], "committed_offset": offset}
        response = await self._coordinator.ask(
            _COMMIT,
            group_id=self._group,
            generation_id_or_member_epoch=self._epoch,
            member_id=self.member_id,
            topics=[{"name": partition[0], "partitions": [wanted]}],
        )
        code = ErrorCode(response.topics[0].partitions[0].error_code)
        if code is ErrorCode.NONE:
            self._committed[partition[1]] = offset
            self._checker.on_committed(partition, offset, sent_s, coordinator[0])
        elif code in FENCED or code is ErrorCode.STALE_MEMBER_EPOCH:
            self._checker.on_commit_rejected(partition, offset, sent_s)
        else:
            raise NoAnswer(code.name)  # it may have been written all the same


async def committed_offset(
    client: Client,
    coordinator: CoordinatorClient,
    group: str,
    partition: PartitionName,
    member: tuple[str, int] | None = None,
) -> int:
    """Return a group's committed offset, -1 for none, and have it checked. Raises `NoAnswer`."""
    address = await coordinator.address()
    asked_s = client.now_s
    found = await fetch_offsets(client, address, group, [partition], member=member)
    client.history.group.on_fetched(partition, found[partition], asked_s, address[0])
    return found[partition]


class ConsumerGroup(Group[Member]):
    def __init__(self, client: Client, group: str, topic: str, rebalance_ms: int) -> None:
        super().__init__(client, topic, lambda topic_id: Member(client, group, topic, topic_id, rebalance_ms))

    def describe_unowned(self, partitions: list[PartitionName]) -> str | None:
        """Describe a partition that no member reads, or several members."""
        for topic, number in partitions:
            members = self.members.values()
            owners = [each.member_id for each in members if each.positions.get(number) is not None]
            if len(owners) != 1:
                return f"{topic}-{number} is read by {owners}"
        return None
