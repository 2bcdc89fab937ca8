"""A member of a share group (KIP-932): it acquires records, and acknowledges some of them.

It has a session with every broker that leads one of its partitions. After a failure it begins a new one.
"""

import asyncio
from typing import Any

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.record import iter_records
from penstock_simulation.cluster.checkers.shares import ShareChecker
from penstock_simulation.cluster.clients.client import (
    Address,
    Client,
    CoordinatorClient,
    NoAnswer,
    check_error,
)
from penstock_simulation.cluster.clients.group import Group, new_member_id
from penstock_simulation.cluster.clients.member import FENCED, JOIN_EPOCH, LEAVE_EPOCH
from penstock_simulation.cluster.clients.reader import OnRecord, intact_batches
from penstock_simulation.cluster.clients.requests import alter_configs
from penstock_simulation.cluster.values import PartitionName

_HEARTBEAT, _FETCH, _ACKNOWLEDGE = (76, 1), (78, 1), (79, 1)
_FIRST_EPOCH, _LAST_EPOCH = 0, -1
"""Epochs that begin and end a session."""
_ACCEPT, _RELEASE, _REJECT = 1, 2, 3
_INTERVAL_S = 0.3
_WAIT_MS = 200
_RECORDS_MAX = 20
_GROUP_RESOURCE = 32

Ranges = list[tuple[int, int]]
Acknowledgements = dict[int, list[dict[str, Any]]]
"""By partition: ranges of offsets with the types of their acknowledgements."""


class ShareSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """The topic that a group reads, and the checks of its records."""

    group: str
    topic: str
    checker: ShareChecker
    on_record: OnRecord


class ShareMember:
    def __init__(self, client: Client, subscription: ShareSubscription, topic_id: bytes) -> None:
        self._client = client
        self._checker = subscription.checker
        self._on_record = subscription.on_record
        self._group = subscription.group
        self._topic = subscription.topic
        self._topic_id = topic_id
        self._member_id = new_member_id(client)
        self._epoch = JOIN_EPOCH
        self._coordinator = CoordinatorClient(client, subscription.group)
        self._assigned: set[int] = set()
        self._sessions: dict[Address, int] = {}
        """The epoch of the next request to each broker."""
        self._acquired: dict[Address, dict[int, Ranges]] = {}
        """Acquired records of each partition that are still to be acknowledged."""

    async def run(self, life_s: float) -> None:
        """Take part for this long; then leave, or fall silent."""
        end_s = self._client.now_s + life_s
        while self._client.now_s < end_s:
            try:
                await self._heartbeat()
            except NoAnswer:
                self._coordinator.forget()
            await self._work()
            await asyncio.sleep(self._client.random.uniform(0.5, 1.5) * _INTERVAL_S)
        if self._client.random.random() < 0.5:
            await self._leave()

    # -- membership -----------------------------------------------------------------------------------

    async def _heartbeat(self) -> None:
        response = await self._ask_heartbeat(self._epoch)
        if response.error_code in FENCED:
            self._epoch = JOIN_EPOCH
            self._assigned.clear()
            return
        check_error(response.error_code)
        self._epoch = response.member_epoch
        if response.assignment is not None:
            topics = response.assignment.topic_partitions
            self._assigned = {number for each in topics for number in each.partitions}

    async def _ask_heartbeat(self, epoch: int) -> Any:
        return await self._coordinator.ask(
            _HEARTBEAT,
            group_id=self._group,
            member_id=self._member_id,
            member_epoch=epoch,
            subscribed_topic_names=[self._topic],
        )

    async def _leave(self) -> None:
        try:
            for address in list(self._sessions):
                await self._fetch(address, [], _LAST_EPOCH)
            await self._ask_heartbeat(LEAVE_EPOCH)
        except NoAnswer:
            self._coordinator.forget()

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
                await self._fetch(address, numbers, self._sessions.get(address, _FIRST_EPOCH))
                await self._acknowledge_some(address)
            except NoAnswer:
                self._sessions.pop(address, None)
                self._acquired.pop(address, None)

    async def _fetch(self, address: Address, numbers: list[int], epoch: int) -> None:
        """Fetch, and acknowledge records of earlier fetches. Raises `NoAnswer`."""
        acquired = {} if epoch == _FIRST_EPOCH else self._acquired.pop(address, {})
        sent = self._draw_acknowledgements(acquired)
        fetch = self._checker.on_fetch_sent()
        response = await self._ask(
            address,
            _FETCH,
            epoch,
            {number: sent.get(number, []) for number in sorted({*numbers, *sent})},
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=_RECORDS_MAX,
            batch_size=_RECORDS_MAX,
        )
        answers = {each.partition_index: each for topic in response.responses for each in topic.partitions}
        for number, batches in sent.items():
            if number in answers and answers[number].acknowledge_error_code == ErrorCode.NONE:
                self._on_acknowledged(number, batches)
        for number, data in answers.items():
            if data.error_code == ErrorCode.NONE:
                self._on_records(address, number, data, fetch)

    async def _ask(
        self, address: Address, api: tuple[int, int], epoch: int, batches: Acknowledgements, **fields: Any
    ) -> Any:
        """Send a request of the session with a broker. Raises `NoAnswer`."""
        partitions = [
            {"partition_index": number, "acknowledgement_batches": each} for number, each in batches.items()
        ]
        response = await self._client.ask(
            address,
            api,
            group_id=self._group,
            member_id=self._member_id,
            share_session_epoch=epoch,
            topics=[{"topic_id": self._topic_id, "partitions": partitions}] if partitions else [],
            **fields,
        )
        check_error(response.error_code)
        if epoch == _LAST_EPOCH:
            self._sessions.pop(address, None)
        else:
            self._sessions[address] = epoch + 1
        return response

    def _on_records(self, address: Address, number: int, data: Any, fetch: int) -> None:
        batches = bytes(data.records or b"")
        values: dict[int, bytes | None] = {}
        for pos, header in intact_batches(batches):
            records = iter_records(batches, pos=pos)
            values.update((each.offset, None if header.is_control else each.value) for each in records)
        partition: PartitionName = (self._topic, number)
        ranges = [(each.first_offset, each.last_offset) for each in data.acquired_records]
        for offset in (offset for first, last in ranges for offset in range(first, last + 1)):
            if offset not in values:
                self._checker.on_record_missing(partition, offset)
            elif (value := values[offset]) is not None:
                self._on_record(partition, offset, value)
                self._checker.on_delivered(partition, offset, fetch, address[0])
        if ranges:
            self._acquired.setdefault(address, {}).setdefault(number, []).extend(ranges)

    async def _acknowledge_some(self, address: Address) -> None:
        """Acknowledge now, with the next fetch, or never: then the records' locks time out."""
        if not self._acquired.get(address):
            return
        drawn = self._client.random.random()
        if drawn < 0.1:
            del self._acquired[address]
        elif drawn < 0.6:
            sent = self._draw_acknowledgements(self._acquired.pop(address))
            response = await self._ask(address, _ACKNOWLEDGE, self._sessions[address], sent)
            for each in (each for topic in response.responses for each in topic.partitions):
                if each.error_code == ErrorCode.NONE:
                    self._on_acknowledged(each.partition_index, sent[each.partition_index])

    def _draw_acknowledgements(self, acquired: dict[int, Ranges]) -> Acknowledgements:
        """Draw a type for each record, or one for a whole range."""
        random = self._client.random
        drawn: Acknowledgements = {}
        for number, ranges in acquired.items():
            for first, last in ranges:
                count = 1 if random.random() < 0.5 else last - first + 1
                types = random.choices([_ACCEPT, _RELEASE, _REJECT], [8, 2, 1], k=count)
                batch = {"first_offset": first, "last_offset": last, "acknowledge_types": types}
                drawn.setdefault(number, []).append(batch)
        return drawn

    def _on_acknowledged(self, number: int, batches: list[dict[str, Any]]) -> None:
        for batch in batches:
            first, last, types = batch.values()
            for offset in range(first, last + 1):
                if types[offset - first if len(types) > 1 else 0] in (_ACCEPT, _REJECT):
                    self._checker.on_acknowledged((self._topic, number), offset)


class ShareGroup(Group[ShareMember]):
    def __init__(self, client: Client, subscription: ShareSubscription, **settings: str) -> None:
        """Make a group. An underscore in a setting's name is a dot."""
        super().__init__(
            client, subscription.topic, lambda topic_id: ShareMember(client, subscription, topic_id)
        )
        self._group = subscription.group
        settings = {"share_auto_offset_reset": "earliest", **settings}
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}

    async def set_up(self) -> bool:
        """Apply the group's settings; return whether that was acknowledged. Raises `NoAnswer`."""
        code = await alter_configs(self._client, _GROUP_RESOURCE, self._group, self._settings)
        return code is ErrorCode.NONE
