"""Drives one KIP-848 group as its shell would, with a clock that stands still until it is moved."""

from collections.abc import Iterable, Mapping

import msgspec

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Partition, Topic
from penstock.groups.consumer import heartbeat, membership, subscription
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.heartbeat import Client
from penstock.groups.consumer.member import LEAVE_STATIC_EPOCH
from penstock.groups.consumer.records import Change, Key
from penstock.groups.consumer.situation import ConsumerSettings, Situation
from penstock.groups.moment import Moment
from penstock.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)

BEGAN_MS = 1_000_000
SESSION_MS = 45_000
REBALANCE_MS = 60_000
SETTINGS = ConsumerSettings(session_timeout_ms=SESSION_MS, assignment_interval_ms=0)
Places = set[tuple[str, int]]


def topic_id(name: str) -> bytes:
    return name.encode().rjust(16, b"\0")


def image_of(topics: Mapping[str, int]) -> MetadataImage:
    image = MetadataImage("cluster")
    for name, count in topics.items():
        set_topic(image, name, count)
    return image


def set_topic(image: MetadataImage, name: str, count: int) -> None:
    topic = Topic(name, topic_id(name))
    for number in range(count):
        topic.partitions[number] = Partition(
            replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
        )
    image.topics[name] = image.topics_by_id[topic.topic_id] = topic


class Driver:
    """One group, the topics around it, and all records that it wrote."""

    def __init__(self, settings: ConsumerSettings = SETTINGS, **topics: int) -> None:
        self.group = ConsumerGroup("g")
        self.image = image_of(topics or {"a": 4})
        self.settings = settings
        self.now_ms = BEGAN_MS
        self.log: list[Change] = []
        self.written: list[Change] = []
        """The records of the last request."""
        self.refuses = False
        """Whether the log refuses everything."""

    @property
    def now(self) -> Situation:
        return Situation(self.image, Moment(float(self.now_ms), self.now_ms), self.settings)

    def advance(self, delta_ms: int) -> list[str]:
        """Move the clock, stopping wherever the group wants to be woken; gives who was removed."""
        removed = []
        end_ms = self.now_ms + delta_ms
        while self.group.wake_at_ms <= end_ms:
            self.now_ms = max(self.now_ms, int(self.group.wake_at_ms))
            late = self.group.timers.overdue(self.now_ms)
            if late:
                membership.remove(self.group, [self.group.members[each] for each in late], self.now)
                self._take()
            removed += late
        self.now_ms = end_ms
        return removed

    def change_topics(self, **topics: int) -> None:
        """Make topics, let them grow, or with 0 delete them."""
        made = {name for name, count in topics.items() if count and name not in self.image.topics}
        for name, count in topics.items():
            if count:
                set_topic(self.image, name, count)
            else:
                topic = self.image.topics.pop(name)
                del self.image.topics_by_id[topic.topic_id]
        subscription.follow_topics(self.group, made, self.now)
        self._take()
        if self.group.topic_names() & topics.keys():
            self.group.must_refresh = True

    def send(
        self, request: ConsumerGroupHeartbeatRequest, version: int = 1
    ) -> ConsumerGroupHeartbeatResponse:
        """Raises `Refused`; the group must then be as before."""
        before = len(self.group.outbox)
        try:
            heartbeat.check_request(request, version, self.settings)
            answer = heartbeat.heartbeat(self.group, request, Client("client", "/127.0.0.1"), self.now)
        except Refused:
            assert len(self.group.outbox) == before, "refused, but changed"
            raise
        self._take()
        return answer

    def leave(self, member_id: str, epoch: int = -1, instance_id: str | None = None) -> None:
        member = membership.leaving_member(self.group, member_id, instance_id)
        if epoch == LEAVE_STATIC_EPOCH:
            membership.leave_for_a_while(self.group, member)
        else:
            membership.remove(self.group, [member], self.now)
        self._take()

    def _take(self) -> None:
        if self.refuses:
            self.group.roll_back(self.now.moment, self.settings.session_timeout_ms)
        self.written = self.group.take_outbox()
        self.log += self.written

    def replayed(self) -> ConsumerGroup:
        """The group as the log has it."""
        return replay(self.log)


def replay(log: Iterable[Change]) -> ConsumerGroup:
    group = ConsumerGroup("g")
    for change in log:
        group.apply(*change)
    return group


class Consumer:
    """A client as KIP-848 describes it: does what it is told, and then says so."""

    def __init__(
        self,
        driver: Driver,
        member_id: str,
        *topics: str,
        regex: str | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
    ) -> None:
        self.driver = driver
        self.member_id = member_id
        self.topics = list(topics or (() if regex else ("a",)))
        self.regex = regex
        self.instance_id = instance_id
        self.assignor = assignor
        self.epoch = 0
        self.held: Places = set()
        self.told: Places = set()
        self.says_all = False
        """After an answer that it did not get it repeats everything, as real clients do."""

    def join(self) -> "Consumer":
        self.epoch = 0
        self.held = set()
        self.told = set()
        self.says_all = False
        return self.beat()

    def beat(self, *, obeys: bool = True) -> "Consumer":
        """One heartbeat; does what the answer says unless it is slow to."""
        answer = self.driver.send(self.request())
        self.take(answer)
        if obeys:
            self.obey()
        return self

    def request(self) -> ConsumerGroupHeartbeatRequest:
        """Full when it joins or missed an answer; else it says what it holds."""
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            topic_partitions=reported(self.held),
        )
        if self.epoch and not self.says_all:
            return request
        return msgspec.structs.replace(
            request,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=self.topics,
            subscribed_topic_regex=self.regex,
            server_assignor=self.assignor,
        )

    def take(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        self.says_all = False
        if answer.assignment is not None:
            self.told = {
                (each.topic_id.lstrip(b"\0").decode(), p)
                for each in answer.assignment.topic_partitions
                for p in each.partitions
            }

    def obey(self) -> None:
        self.held = set(self.told)

    @property
    def numbers(self) -> list[int]:
        return sorted(partition for _, partition in self.held)


def reported(held: Places) -> list[RequestTopicPartitions]:
    names = {name for name, _ in held}
    return [
        RequestTopicPartitions(topic_id=topic_id(name), partitions=sorted(p for n, p in held if n == name))
        for name in sorted(names)
    ]


def settle(*consumers: Consumer, rounds: int = 6) -> None:
    for _ in range(rounds):
        for consumer in consumers:
            consumer.beat()


def kinds(driver: Driver) -> list[str]:
    """The records of the last request, in short."""

    def name(key: Key) -> str:
        return type(key).__name__.removeprefix("ConsumerGroup").removesuffix("Key")

    return [name(key) + ("" if value is not None else " gone") for key, value in driver.written]
