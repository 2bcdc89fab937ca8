"""A member of a consumer group (KIP-848): it owns partitions, reads them, commits where it is, and gives them up.

What it has read is processed at once; it commits after that, so a record may be processed twice, and none is left out.
"""

import asyncio
import base64
from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import consumer_group_heartbeat as heartbeats
from penstock.protocol.messages import offset_commit, offset_fetch
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import GROUP, Address, Client, NoAnswer
from penstock.testing.simulation.cluster.clients.reader import Reader

_HEARTBEAT, _COMMIT, _FETCH_OFFSETS = (68, 1), (8, 9), (9, 8)
_JOIN, _LEAVE = 0, -1
_INTERVAL_S = 0.4
_GONE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})


class Member:
    """`rebalance_ms` must be no less than the session: a member that hears nothing has given up by then."""

    def __init__(self, client: Client, group: str, topic: str, topic_id: bytes, rebalance_ms: int) -> None:
        self._client = client
        self._group = group
        self._topic = topic
        self._topic_id = topic_id
        self._rebalance_ms = rebalance_ms
        self.member_id = base64.urlsafe_b64encode(client.random.randbytes(16)).decode().rstrip("=")
        self._epoch = _JOIN
        self._coordinator: Address | None = None
        self.positions: dict[int, int | None] = {}
        """Of the partitions it owns; None until it has found out where to begin."""
        self._committed: dict[int, int] = {}

    async def run(self, life_s: float) -> None:
        """Take part for so long; then leave, or be silent."""
        end_s = self._client.now_s + life_s
        while self._client.now_s < end_s:
            try:
                await self._beat()
                await self._work()
            except NoAnswer:
                self._coordinator = None
            await asyncio.sleep(self._client.random.uniform(0.5, 1.5) * _INTERVAL_S)
        if self._client.random.random() < 0.5:
            await self._leave()

    # -- membership -----------------------------------------------------------------------------------

    async def _beat(self) -> None:
        sent_s = self._client.now_s
        coordinator = await self._found()
        answer = await self._client.call(coordinator, _HEARTBEAT, self._report())
        code = ErrorCode(answer.error_code)
        if code in _GONE:
            self._give_up(set(self.positions))
            self._epoch = _JOIN
            return
        if code is not ErrorCode.NONE:
            raise NoAnswer(code.name)
        self._epoch = answer.member_epoch
        self._client.history.group.is_member(self.member_id, sent_s, coordinator[0])
        if answer.assignment is not None:
            topics = answer.assignment.topic_partitions
            given = {number for each in topics for number in each.partitions}
            await self._follow(given)

    def _report(self) -> heartbeats.ConsumerGroupHeartbeatRequest:
        """All of it each time: then every answer tells the whole assignment, and a lost one is made good."""
        owned = heartbeats.RequestTopicPartitions(topic_id=self._topic_id, partitions=sorted(self.positions))
        return heartbeats.ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self.member_id,
            member_epoch=self._epoch,
            rebalance_timeout_ms=self._rebalance_ms,
            subscribed_topic_names=[self._topic],
            topic_partitions=[owned] if self.positions else [],
        )

    async def _follow(self, given: set[int]) -> None:
        now_s = self._client.now_s
        for number in sorted(given - set(self.positions)):
            self.positions[number] = None
            self._client.history.group.takes(self.member_id, (self._topic, number), now_s)
        lost = set(self.positions) - given
        if lost:
            self._client.history.group.is_to_give_up(self.member_id)
            try:
                await self._commit(lost)
            finally:
                self._give_up(lost)

    def _give_up(self, numbers: set[int]) -> None:
        for number in sorted(numbers):
            del self.positions[number]
            self._committed.pop(number, None)
            self._client.history.group.gives_up(self.member_id, (self._topic, number))

    async def _leave(self) -> None:
        self._give_up(set(self.positions))
        request = heartbeats.ConsumerGroupHeartbeatRequest(
            group_id=self._group, member_id=self.member_id, member_epoch=_LEAVE
        )
        try:
            await self._ask_coordinator(_HEARTBEAT, request)
        except NoAnswer:
            self._coordinator = None

    # -- work -----------------------------------------------------------------------------------------

    async def _work(self) -> None:
        for number in sorted(self.positions):
            if self.positions.get(number) is None:
                await self._find_position(number)
            await self._read(number)
        await self._commit(set(self.positions))

    async def _find_position(self, number: int) -> None:
        offset = await committed_offset(
            self._client,
            await self._found(),
            self._group,
            (self._topic, number),
            member_id=self.member_id,
            epoch=self._epoch,
        )
        self.positions[number] = max(offset, 0)

    async def _read(self, number: int) -> None:
        position = self.positions.get(number)
        if position is None:
            return
        partition: PartitionName = (self._topic, number)
        reader = Reader(self._client, partition, self._client.history.records.reads, begin=position)
        for offset, value in await reader.read(await self._client.leader_of(partition)) or ():
            self._client.history.records.reads(partition, offset, value)
        self.positions[number] = reader.next_offset

    async def _commit(self, numbers: set[int]) -> None:
        for number in sorted(numbers):
            offset = self.positions.get(number)
            if offset is not None and offset != self._committed.get(number):
                await self._commit_one((self._topic, number), offset)

    async def _commit_one(self, partition: PartitionName, offset: int) -> None:
        checker, sent_s = self._client.history.group, self._client.now_s
        wanted = offset_commit.OffsetCommitRequestPartition(
            partition_index=partition[1], committed_offset=offset
        )
        request = offset_commit.OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=self._epoch,
            member_id=self.member_id,
            topics=[offset_commit.OffsetCommitRequestTopic(name=partition[0], partitions=[wanted])],
        )
        checker.commits(partition, offset, sent_s)
        answer = await self._ask_coordinator(_COMMIT, request)
        code = ErrorCode(answer.topics[0].partitions[0].error_code)
        if code is ErrorCode.NONE:
            self._committed[partition[1]] = offset
            checker.committed(partition, offset, sent_s)
        elif code in _GONE or code is ErrorCode.STALE_MEMBER_EPOCH:
            checker.refused(partition, offset)
        else:
            raise NoAnswer(code.name)  # it may have been written all the same

    async def _found(self) -> Address:
        if self._coordinator is None:
            self._coordinator = await self._client.coordinator_of(self._group, GROUP)
        return self._coordinator

    async def _ask_coordinator(self, api: tuple[int, int], request: Any) -> Any:
        return await self._client.call(await self._found(), api, request)


async def committed_offset(
    client: Client,
    coordinator: Address,
    group: str,
    partition: PartitionName,
    *,
    member_id: str | None = None,
    epoch: int = -1,
) -> int:
    """What a group has committed, as its coordinator says; -1 for nothing. Raises `NoAnswer`."""
    asked_s = client.now_s
    topic = offset_fetch.OffsetFetchRequestTopics(name=partition[0], partition_indexes=[partition[1]])
    wanted = offset_fetch.OffsetFetchRequestGroup(
        group_id=group, member_id=member_id, member_epoch=epoch, topics=[topic]
    )
    version = _FETCH_OFFSETS if member_id is None else (_FETCH_OFFSETS[0], _FETCH_OFFSETS[1] + 1)
    request = offset_fetch.OffsetFetchRequest(groups=[wanted], require_stable=True)
    answer = await client.call(coordinator, version, request)
    found = answer.groups[0]
    if found.error_code != ErrorCode.NONE:
        raise NoAnswer(ErrorCode(found.error_code).name)
    data = found.topics[0].partitions[0]
    if data.error_code != ErrorCode.NONE:
        raise NoAnswer(ErrorCode(data.error_code).name)
    offset: int = data.committed_offset
    client.history.group.finds(partition, offset, asked_s)
    return offset


class GroupOfConsumers:
    """Members that come and go: some leave, some are just silent."""

    def __init__(self, client: Client, group: str, topic: str, rebalance_ms: int) -> None:
        self._client = client
        self.group = group
        self._topic = topic
        self._rebalance_ms = rebalance_ms
        self.members: dict[asyncio.Task[None], Member] = {}
        self.is_steady = False
        """Set when members are to stay."""

    async def run(self, member_count: int) -> None:
        topic_id = await self._topic_id()
        while True:
            for task in [each for each in self.members if each.done()]:
                del self.members[task]
            while len(self.members) < member_count:
                member = Member(self._client, self.group, self._topic, topic_id, self._rebalance_ms)
                life_s = 1e9 if self.is_steady else self._client.random.expovariate(1 / 8)
                self.members[asyncio.ensure_future(member.run(life_s))] = member
            await asyncio.sleep(self._client.random.uniform(0.2, 1))

    async def _topic_id(self) -> bytes:
        while True:
            try:
                return (await self._client.find((self._topic, 0))).topic_id
            except NoAnswer:
                await self._client.rest()

    def not_owned(self, partitions: list[PartitionName]) -> str | None:
        """Which partition nobody owns and reads, or several members."""
        for topic, number in partitions:
            owners = [
                each.member_id for each in self.members.values() if each.positions.get(number) is not None
            ]
            if len(owners) != 1:
                return f"{topic}-{number} is read by {owners}"
        return None
