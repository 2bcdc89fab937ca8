"""Drives one share group as its shell would, with a clock that stands still until it is moved."""

from collections.abc import Iterable

from penstock.cluster.metadata.state import Partition, Topic
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.heartbeat import Client
from penstock.groups.consumer.member import Assignment
from penstock.groups.moment import Moment
from penstock.groups.share import heartbeat
from penstock.groups.share.group import ShareGroup
from penstock.groups.share.partition_sets import united, without
from penstock.groups.share.records import Change
from penstock.groups.share.situation import ShareSettings, ShareSituation
from penstock.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.groups.consumer.driver import BEGAN_MS, SESSION_MS, Places, image_of, topic_id

PARTITION = Partition(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)
SETTINGS = ShareSettings(session_timeout_ms=SESSION_MS, assignment_interval_ms=0)


class Driver:
    """One group, the topics around it, the share coordinator, and all records that it wrote."""

    def __init__(self, settings: ShareSettings = SETTINGS, **topics: int) -> None:
        self.group = ShareGroup("g")
        self.image = image_of(topics or {"a": 4})
        self.settings = settings
        self.now_ms = BEGAN_MS
        self.log: list[Change] = []
        self.written: list[Change] = []
        """The records of the last request."""
        self.refuses = False
        """Whether the log refuses everything."""
        self.deleted = 0
        self.asked: list[Assignment] = []
        """What the share coordinator was asked to initialize and has not answered."""

    @property
    def now(self) -> ShareSituation:
        return ShareSituation(self.image, Moment(float(self.now_ms), self.now_ms), self.settings)

    def advance(self, delta_ms: int) -> list[str]:
        """Move the clock, stopping wherever the group wants to be woken; gives who was removed."""
        removed = []
        end_ms = self.now_ms + delta_ms
        while self.group.wake_at_ms <= end_ms:
            self.now_ms = max(self.now_ms, int(self.group.wake_at_ms))
            late = self.group.timers.overdue(self.now_ms)
            if late:
                heartbeat.remove(self.group, [self.group.members[each] for each in late], self.now)
                self._take()
            removed += late
        self.now_ms = end_ms
        return removed

    def change_topics(self, **topics: int) -> None:
        """Make topics, let them grow, or with 0 delete them."""
        for name, count in topics.items():
            if not count:
                topic = self.image.topics.pop(name)
                del self.image.topics_by_id[topic.topic_id]
                self.group.put_ledger(self.group.ledger.forgotten([topic.topic_id]))
                self.deleted += 1
                continue
            topic = self.image.topics.get(name) or self._new_topic(name)
            for number in range(len(topic.partitions), count):
                topic.partitions[number] = PARTITION
        self._take()
        if self.group.topic_names() & topics.keys():
            self.group.must_refresh = True

    def _new_topic(self, name: str) -> Topic:
        """One that is made again under its name has another id."""
        topic = Topic(name, bytes([self.deleted]) + topic_id(name)[1:])
        self.image.topics[name] = self.image.topics_by_id[topic.topic_id] = topic
        return topic

    def send(self, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
        """Raises `Refused`; the group must then be as before."""
        before = len(self.group.outbox)
        try:
            heartbeat.check_request(request)
            answer = heartbeat.heartbeat(self.group, request, Client("client", "/127.0.0.1"), self.now)
        except Refused:
            assert len(self.group.outbox) == before, "refused, but changed"
            raise
        missing = heartbeat.uninitialized(self.group, self.now)
        if missing:
            names = {each: self.image.topics_by_id[each].name for each in missing}
            self.group.put_ledger(self.group.ledger.begun(missing, names))
        self._take()
        if missing and not self.refuses:
            self.group.in_flight = united(self.group.in_flight, missing)
            self.asked.append(missing)
        return answer

    def share_coordinator_answers(self, *, succeeds: bool = True) -> None:
        """The oldest of its requests."""
        partitions = self.asked.pop(0)
        self.group.in_flight = without(self.group.in_flight, partitions)
        existing = {each: partitions[each] for each in partitions if each in self.image.topics_by_id}
        ledger = self.group.ledger.failed(partitions)
        self.group.put_ledger(ledger.done(existing) if succeeds else ledger)
        self._take()

    def leave(self, member_id: str) -> ShareGroupHeartbeatResponse:
        answer = heartbeat.leave(self.group, member_id, self.now)
        self._take()
        return answer

    def fail_over(self) -> None:
        """Another broker takes over: it has what the log has, and nobody waits for the share coordinator."""
        self.group = replay(self.log)
        self.asked.clear()
        self.group.resume(self.now.moment, self.settings.session_timeout_ms)

    def _take(self) -> None:
        if self.refuses:
            self.group.roll_back(self.now.moment, self.settings.session_timeout_ms)
        self.written = self.group.take_outbox()
        self.log += self.written


def replay(log: Iterable[Change]) -> ShareGroup:
    group = ShareGroup("g")
    for change in log:
        group.apply(*change)
    return group


class Consumer:
    """A client as KIP-932 describes it: says what it reads when it joins, and reads what it is told."""

    def __init__(self, driver: Driver, member_id: str, *topics: str) -> None:
        self.driver = driver
        self.member_id = member_id
        self.topics = list(topics or ("a",))
        self.epoch = 0
        self.held: Places = set()
        self.says_all = False
        """After an answer that it did not get it repeats everything, as real clients do."""

    def join(self) -> "Consumer":
        self.epoch = 0
        self.held = set()
        return self.beat()

    def beat(self) -> "Consumer":
        self.take(self.driver.send(self.request()))
        return self

    def request(self) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id="g",
            member_id=self.member_id,
            member_epoch=self.epoch,
            subscribed_topic_names=self.topics if self.epoch == 0 or self.says_all else None,
        )

    def take(self, answer: ShareGroupHeartbeatResponse) -> None:
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        self.says_all = False
        if answer.assignment is not None:
            self.held = {
                (each.topic_id[1:].lstrip(b"\0").decode(), p)
                for each in answer.assignment.topic_partitions
                for p in each.partitions
            }

    @property
    def numbers(self) -> list[int]:
        return sorted(partition for _, partition in self.held)


def kinds(driver: Driver) -> list[str]:
    """The records of the last request, in short."""
    return [
        type(key).__name__.removeprefix("ShareGroup").removesuffix("Key") + ("" if value else " gone")
        for key, value in driver.written
    ]
