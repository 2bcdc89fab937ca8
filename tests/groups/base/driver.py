"""Drives one group with epochs as its service would, with a clock that the test moves."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Partition, Topic
from penstock.groups.base.context import EpochGroupSettings, GroupContext
from penstock.groups.base.epoch_group import EpochGroup
from penstock.groups.base.errors import GroupError
from penstock.groups.base.instant import Instant
from penstock.groups.base.member import Client
from penstock.protocol.coordinator_records import TypedRecord

BEGAN_MS = 1_000_000
SESSION_MS = 45_000
PARTITION = Partition(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)
CLIENT = Client("client", "/127.0.0.1")
TopicPartitions = set[tuple[str, int]]

G = TypeVar("G", bound=EpochGroup[Any])
S = TypeVar("S", bound=EpochGroupSettings)
D = TypeVar("D", bound="EpochDriver[Any, Any]")


def topic_id(name: str) -> bytes:
    return name.encode().rjust(16, b"\0")


def topic_name(topic_id: bytes) -> str:
    """The first byte may count the topics of the name that were deleted before."""
    return topic_id[1:].lstrip(b"\0").decode()


def image_of(topics: Mapping[str, int]) -> MetadataImage:
    image = MetadataImage("cluster")
    for name, count in topics.items():
        set_topic(image, name, count)
    return image


def set_topic(image: MetadataImage, name: str, count: int, id_: bytes | None = None) -> None:
    """Create a topic, or add partitions to it."""
    topic = image.topics.get(name) or Topic(name, id_ or topic_id(name))
    for number in range(len(topic.partitions), count):
        topic.partitions[number] = PARTITION
    image.topics[name] = image.topics_by_id[topic.topic_id] = topic


class EpochDriver(Generic[G, S]):
    """One group, the topics around it, and all records that it wrote."""

    make_group: ClassVar[Any]

    def __init__(self, settings: S, topics: Mapping[str, int]) -> None:
        self.group: G = self.make_group("g")
        self.image = image_of(topics or {"a": 4})
        self.settings = settings
        self.now_ms = BEGAN_MS
        self.log: list[TypedRecord] = []
        self.written: list[TypedRecord] = []
        """The records of the last request."""
        self.refuses = False
        """Whether the log refuses everything."""

    @property
    def ctx(self) -> GroupContext[S]:
        return GroupContext(self.image, Instant(float(self.now_ms), self.now_ms), self.settings)

    def advance(self, delta_ms: int) -> list[str]:
        """Move the clock, stopping at every deadline of the group. Return the members that were removed."""
        removed = []
        end_ms = self.now_ms + delta_ms
        while self.group.wake_at_ms <= end_ms:
            self.now_ms = max(self.now_ms, int(self.group.wake_at_ms))
            late = self.group.timers.overdue(self.now_ms)
            if late:
                self.remove_members(late)
                self.take()
            removed += late
        self.now_ms = end_ms
        return removed

    def remove_members(self, member_ids: list[str]) -> None:
        raise NotImplementedError

    def handle(self, request: Any) -> Any:
        raise NotImplementedError

    def send(self, request: Any) -> Any:
        """Raises `GroupError`; the group must then be unchanged."""
        before = len(self.group.outbox)
        try:
            return self.handle(request)
        except GroupError:
            assert len(self.group.outbox) == before, "rejected, but changed"
            raise

    def take(self) -> None:
        if self.refuses:
            self.group.roll_back(self.ctx.now, self.settings.session_timeout_ms)
        self.written = self.group.take_outbox()
        self.log += self.written

    def replayed(self) -> G:
        """The group as the log has it."""
        group: G = self.replay(self.log)
        return group

    @classmethod
    def replay(cls, log: Iterable[TypedRecord]) -> Any:
        group = cls.make_group("g")
        for record in log:
            group.apply(*record)
        return group


class EpochConsumer(Generic[D]):
    """A client that follows the responses of the group."""

    def __init__(self, driver: D, member_id: str, topics: Iterable[str]) -> None:
        self.driver = driver
        self.member_id = member_id
        self.topics = list(topics)
        self.epoch = 0
        self.held: TopicPartitions = set()
        self.assigned: TopicPartitions = set()
        self.sends_everything = False
        """After a lost response it repeats everything, as real clients do."""

    def join(self) -> Self:
        self.epoch = 0
        self.held = set()
        self.assigned = set()
        self.sends_everything = False
        return self.beat()

    def beat(self, *, revokes: bool = True) -> Self:
        """Send a heartbeat, and take over the assignment unless the client is slow to."""
        self.receive(self.driver.send(self.request()))
        if revokes:
            self.take_over()
        return self

    def request(self) -> Any:
        raise NotImplementedError

    def receive(self, response: Any) -> None:
        assert response.error_code == 0, response
        self.epoch = response.member_epoch
        self.sends_everything = False
        if response.assignment is not None:
            self.assigned = {
                (topic_name(each.topic_id), p)
                for each in response.assignment.topic_partitions
                for p in each.partitions
            }

    def take_over(self) -> None:
        self.held = set(self.assigned)

    @property
    def numbers(self) -> list[int]:
        return sorted(partition for _, partition in self.held)


def kinds(driver: EpochDriver[Any, Any]) -> list[str]:
    """The records of the last request, in short."""

    def name(key: object) -> str:
        kind = type(key).__name__
        return kind.removeprefix("ConsumerGroup").removeprefix("ShareGroup").removesuffix("Key")

    return [name(key) + ("" if value is not None else " gone") for key, value in driver.written]
