"""Drives classic members of a KIP-848 group."""

from collections.abc import Iterable

import msgspec

from penstock.groups.base.member import Client
from penstock.groups.classic.group import ClassicGroup
from penstock.groups.classic.states import State
from penstock.groups.consumer import classic_members, migration
from penstock.groups.consumer.classic_members import Joiner
from penstock.groups.consumer.consumer_protocol import decode_assignment
from penstock.protocol.messages import consumer_protocol_assignment, consumer_protocol_subscription
from penstock.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from penstock.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from penstock.protocol.messages.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from penstock.protocol.messages.sync_group import SyncGroupRequest
from tests.groups.base.driver import topic_id
from tests.groups.classic.driver import Driver as ClassicDriver
from tests.groups.consumer.driver import REBALANCE_MS, Consumer, Driver

CLASSIC_SESSION_MS = 10_000


def subscription(*topics: str, owned: Iterable[int] = (), version: int = 1) -> bytes:
    said = ConsumerProtocolSubscription(
        topics=list(topics),
        owned_partitions=[TopicPartition(topic="a", partitions=sorted(owned))] if owned else [],
    )
    return version.to_bytes(2, "big") + consumer_protocol_subscription.encode(said, version)


def assignment(*partitions: int) -> bytes:
    given = ConsumerProtocolAssignment(
        assigned_partitions=[AssignedTopic(topic="a", partitions=list(partitions))]
    )
    return b"\0\1" + consumer_protocol_assignment.encode(given, 1)


def classic_group(**assignments: bytes) -> ClassicGroup:
    """A stable group of generation 1, each member with its assignment."""
    driver = ClassicDriver()
    tickets = {
        name: driver.join(new_id=name, protocols={"range": subscription("a")}, session_ms=CLASSIC_SESSION_MS)
        for name in assignments
    }
    while driver.group.state is State.PREPARING_REBALANCE:
        driver.advance(1000)
    assert all(not driver.error(ticket) for ticket in tickets.values())
    leader = driver.group.leader_id
    assert leader is not None
    driver.sync(leader, assignments)
    return driver.group


def upgraded(driver: Driver, classic: ClassicGroup) -> None:
    driver.group = migration.upgrade(classic, driver.ctx)
    driver.log = driver.group.take_outbox()


class ClassicConsumer:
    """A cooperative classic member: rejoins on request, with the partitions that it owns."""

    def __init__(self, driver: Driver, member_id: str, instance_id: str | None = None) -> None:
        self.driver = driver
        self.member_id = member_id
        self.instance_id = instance_id
        self.generation = 1
        self.held: set[int] = set()

    def join(self, **more: object) -> JoinGroupResponse:
        metadata = subscription("a", owned=self.held)
        request = JoinGroupRequest(
            group_id="g",
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            session_timeout_ms=CLASSIC_SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        request = msgspec.structs.replace(request, **more)
        joiner = Joiner(Client("classic", "/127.0.0.1"), "new-id", requires_member_id=True)
        answer = classic_members.join(self.driver.group, request, joiner, self.driver.ctx)
        self.driver.take()
        if not answer.error_code:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self) -> set[int]:
        request = SyncGroupRequest(
            group_id="g",
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name="range",
        )
        answer = classic_members.sync(self.driver.group, request, self.driver.ctx)
        given = decode_assignment(answer.assignment, self.driver.image)
        self.held = set(given.get(topic_id("a"), ()))
        return self.held

    def beat(self) -> str:
        request = HeartbeatRequest(
            group_id="g",
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            generation_id=self.generation,
        )
        code = classic_members.heartbeat(self.driver.group, request, self.driver.ctx)
        self.driver.take()
        return code.name

    def work(self) -> None:
        """One heartbeat, and what follows from it."""
        if self.beat() == "REBALANCE_IN_PROGRESS":
            self.join()
            self.sync()


def mixed() -> tuple[Driver, ClassicConsumer, Consumer]:
    """A stable group of one classic member and one of the consumer protocol."""
    driver = Driver(a=4)
    upgraded(driver, classic_group(c1=assignment(0, 1, 2, 3)))
    old = ClassicConsumer(driver, "c1")
    old.held = {0, 1, 2, 3}
    new = Consumer(driver, "m1").join()
    for _ in range(4):
        old.work()
        new.beat()
    return driver, old, new
