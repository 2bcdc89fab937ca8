"""A member of a share group (KIP-932): it is given records, and says of each, or does not, what became of it.

It has a session with every broker that leads one of its partitions. After a failure it begins a new one.
"""

import asyncio
import base64
from typing import Any

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import incremental_alter_configs as configs
from penstock.protocol.messages import share_acknowledge, share_fetch
from penstock.protocol.messages import share_group_heartbeat as heartbeats
from penstock.protocol.records.record import iter_records
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.checkers.shares import ShareChecker
from penstock.testing.simulation.cluster.clients.client import GROUP, Address, Client, NoAnswer
from penstock.testing.simulation.cluster.clients.reader import Note, intact

_HEARTBEAT, _FETCH, _ACKNOWLEDGE, _ALTER_CONFIGS = (76, 1), (78, 1), (79, 1), (44, 1)
_JOIN, _LEAVE = 0, -1
_FIRST, _LAST = 0, -1  # epochs of a session
_ACCEPT, _RELEASE, _REJECT = 1, 2, 3
_INTERVAL_S = 0.3
_WAIT_MS = 200
_RECORDS_MAX = 20
_GROUP_SETTINGS = 32
_GONE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})

Ranges = list[tuple[int, int]]


class Sharing(msgspec.Struct, frozen=True, kw_only=True):
    """What a group reads, and who checks it."""

    group: str
    topic: str
    checker: ShareChecker
    note: Note
    """Is told of every record."""


class ShareMember:
    def __init__(self, client: Client, sharing: Sharing, topic_id: bytes) -> None:
        self._client = client
        self._checker = sharing.checker
        self._note = sharing.note
        self._group = sharing.group
        self._topic = sharing.topic
        self._topic_id = topic_id
        self._member_id = base64.urlsafe_b64encode(client.random.randbytes(16)).decode().rstrip("=")
        self._epoch = _JOIN
        self._coordinator: Address | None = None
        self._assigned: set[int] = set()
        self._sessions: dict[Address, int] = {}
        """The epoch of the next request to each broker."""
        self._held: dict[Address, dict[int, Ranges]] = {}
        """What is to be acknowledged with the next fetch, by partition."""

    async def run(self, life_s: float) -> None:
        """Take part for so long; then leave, or be silent."""
        end_s = self._client.now_s + life_s
        while self._client.now_s < end_s:
            try:
                await self._beat()
            except NoAnswer:
                self._coordinator = None
            await self._work()
            await asyncio.sleep(self._client.random.uniform(0.5, 1.5) * _INTERVAL_S)
        if self._client.random.random() < 0.5:
            await self._leave()

    # -- membership -----------------------------------------------------------------------------------

    async def _beat(self) -> None:
        answer = await self._tell(self._epoch)
        code = ErrorCode(answer.error_code)
        if code in _GONE:
            self._epoch = _JOIN
            self._assigned.clear()
            return
        if code is not ErrorCode.NONE:
            raise NoAnswer(code.name)
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            self._assigned = {
                number for each in answer.assignment.topic_partitions for number in each.partitions
            }

    async def _tell(self, epoch: int) -> heartbeats.ShareGroupHeartbeatResponse:
        if self._coordinator is None:
            self._coordinator = await self._client.coordinator_of(self._group, GROUP)
        request = heartbeats.ShareGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._member_id,
            member_epoch=epoch,
            subscribed_topic_names=[self._topic],
        )
        answer: heartbeats.ShareGroupHeartbeatResponse = await self._client.call(
            self._coordinator, _HEARTBEAT, request
        )
        return answer

    async def _leave(self) -> None:
        try:
            for address in list(self._sessions):
                await self._fetch(address, [], _LAST)
            await self._tell(_LEAVE)
        except NoAnswer:
            self._coordinator = None

    # -- records --------------------------------------------------------------------------------------

    async def _work(self) -> None:
        by_leader: dict[Address, list[int]] = {}
        for number in sorted(self._assigned):
            try:
                leader = await self._client.leader_of((self._topic, number))
            except NoAnswer:
                continue
            by_leader.setdefault(leader, []).append(number)
        for address, numbers in by_leader.items():
            try:
                await self._fetch(address, numbers, self._sessions.get(address, _FIRST))
                await self._acknowledge_some(address)
            except NoAnswer:
                self._sessions.pop(address, None)
                self._held.pop(address, None)

    async def _fetch(self, address: Address, numbers: list[int], epoch: int) -> None:
        """Raises `NoAnswer`."""
        held = {} if epoch == _FIRST else self._held.pop(address, {})
        answered = {number: self._answers(ranges) for number, ranges in held.items()}
        wanted = [
            share_fetch.FetchPartition(
                partition_index=number,
                acknowledgement_batches=[
                    share_fetch.AcknowledgementBatch(
                        first_offset=first, last_offset=last, acknowledge_types=types
                    )
                    for first, last, types in answered.get(number, [])
                ],
            )
            for number in sorted({*numbers, *answered})
        ]
        request = share_fetch.ShareFetchRequest(
            group_id=self._group,
            member_id=self._member_id,
            share_session_epoch=epoch,
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=_RECORDS_MAX,
            batch_size=_RECORDS_MAX,
            topics=[share_fetch.FetchTopic(topic_id=self._topic_id, partitions=wanted)] if wanted else [],
        )
        asked = self._checker.asks()
        response: share_fetch.ShareFetchResponse = await self._client.call(address, _FETCH, request)
        self._proceed(address, epoch, response.error_code)
        told = {each.partition_index: each for topic in response.responses for each in topic.partitions}
        for number, batches in answered.items():
            if number in told and told[number].acknowledge_error_code == ErrorCode.NONE:
                self._are_done(number, batches)
        for number, data in told.items():
            self._take(address, number, data, asked)

    def _proceed(self, address: Address, epoch: int, code: int) -> None:
        if code != ErrorCode.NONE:
            raise NoAnswer(ErrorCode(code).name)
        if epoch == _LAST:
            self._sessions.pop(address, None)
        else:
            self._sessions[address] = epoch + 1

    def _take(self, address: Address, number: int, data: share_fetch.PartitionData, asked: int) -> None:
        if data.error_code != ErrorCode.NONE:
            return
        batches = bytes(data.records or b"")
        values: dict[int, bytes | None] = {}
        for pos, header in intact(batches):
            records = iter_records(batches, pos=pos)
            values.update((each.offset, None if header.is_control else each.value) for each in records)
        partition: PartitionName = (self._topic, number)
        ranges: Ranges = []
        for acquired in data.acquired_records:
            ranges.append((acquired.first_offset, acquired.last_offset))
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                if offset not in values:
                    self._checker.misses(partition, offset)
                elif (value := values[offset]) is not None:
                    self._note(partition, offset, value)
                    self._checker.is_given(partition, offset, asked, address[0])
        if ranges:
            self._held.setdefault(address, {}).setdefault(number, []).extend(ranges)

    async def _acknowledge_some(self, address: Address) -> None:
        """Now, with the next fetch, or never: then others get the records when the lock has run out."""
        held = self._held.get(address)
        if not held:
            return
        drawn = self._client.random.random()
        if drawn < 0.1:
            del self._held[address]
        elif drawn < 0.6:
            await self._acknowledge(address, self._held.pop(address))

    async def _acknowledge(self, address: Address, held: dict[int, Ranges]) -> None:
        answered = {number: self._answers(ranges) for number, ranges in held.items()}
        epoch = self._sessions[address]
        partitions = [
            share_acknowledge.AcknowledgePartition(
                partition_index=number,
                acknowledgement_batches=[
                    share_acknowledge.AcknowledgementBatch(
                        first_offset=first, last_offset=last, acknowledge_types=types
                    )
                    for first, last, types in batches
                ],
            )
            for number, batches in answered.items()
        ]
        topic = share_acknowledge.AcknowledgeTopic(topic_id=self._topic_id, partitions=partitions)
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=self._group, member_id=self._member_id, share_session_epoch=epoch, topics=[topic]
        )
        response: share_acknowledge.ShareAcknowledgeResponse = await self._client.call(
            address, _ACKNOWLEDGE, request
        )
        self._proceed(address, epoch, response.error_code)
        for each in (each for topic in response.responses for each in topic.partitions):
            if each.error_code == ErrorCode.NONE:
                self._are_done(each.partition_index, answered[each.partition_index])

    def _answers(self, ranges: Ranges) -> list[tuple[int, int, list[int]]]:
        """What is said of each record, for some ranges one thing of all of them."""
        random = self._client.random
        answers = []
        for first, last in ranges:
            count = 1 if random.random() < 0.5 else last - first + 1
            types = random.choices([_ACCEPT, _RELEASE, _REJECT], [8, 2, 1], k=count)
            answers.append((first, last, types))
        return answers

    def _are_done(self, number: int, batches: list[tuple[int, int, list[int]]]) -> None:
        partition: PartitionName = (self._topic, number)
        for first, last, types in batches:
            for offset in range(first, last + 1):
                if types[offset - first if len(types) > 1 else 0] in (_ACCEPT, _REJECT):
                    self._checker.is_done(partition, offset)


class ShareGroup:
    """Members that come and go: some leave, some are just silent."""

    def __init__(self, client: Client, sharing: Sharing, **settings: str) -> None:
        """Settings are named with underscores."""
        self._client = client
        self._sharing = sharing
        self._settings = settings
        self.members: dict[asyncio.Task[None], ShareMember] = {}
        self.is_steady = False
        """Set when members are to stay."""

    async def set_up(self) -> bool:
        """Have the group read all there is, as its settings say; whether that was acknowledged."""
        settings = {"share_auto_offset_reset": "earliest", **self._settings}
        resource = configs.AlterConfigsResource(
            resource_type=_GROUP_SETTINGS,
            resource_name=self._sharing.group,
            configs=[
                configs.AlterableConfig(name=name.replace("_", "."), config_operation=0, value=value)
                for name, value in settings.items()
            ],
        )
        request = configs.IncrementalAlterConfigsRequest(resources=[resource])
        try:
            answer: Any = await self._client.ask_anybody(_ALTER_CONFIGS, request)
        except NoAnswer:
            return False
        return bool(answer.responses[0].error_code == ErrorCode.NONE)

    async def run(self, member_count: int) -> None:
        topic_id = await self._topic_id()
        while True:
            for task in [each for each in self.members if each.done()]:
                del self.members[task]
            while len(self.members) < member_count:
                member = ShareMember(self._client, self._sharing, topic_id)
                life_s = 1e9 if self.is_steady else self._client.random.expovariate(1 / 8)
                self.members[asyncio.ensure_future(member.run(life_s))] = member
            await asyncio.sleep(self._client.random.uniform(0.2, 1))

    async def _topic_id(self) -> bytes:
        while True:
            try:
                return (await self._client.find((self._sharing.topic, 0))).topic_id
            except NoAnswer:
                await self._client.rest()
