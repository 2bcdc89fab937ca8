"""Drives one KIP-848 group as its service would."""

from typing import cast

import msgspec

from penstock.groups.base.context import ConsumerSettings
from penstock.groups.consumer import heartbeat, membership, subscription
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import LEAVE_STATIC_EPOCH
from penstock.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from tests.groups.base.driver import (
    CLIENT,
    SESSION_MS,
    EpochConsumer,
    EpochDriver,
    TopicPartitions,
    set_topic,
    topic_id,
)

REBALANCE_MS = 60_000
SETTINGS = ConsumerSettings(session_timeout_ms=SESSION_MS, assignment_interval_ms=0)


class Driver(EpochDriver[ConsumerGroup, ConsumerSettings]):
    make_group = ConsumerGroup

    def __init__(self, settings: ConsumerSettings = SETTINGS, **topics: int) -> None:
        super().__init__(settings, topics)

    def remove_members(self, member_ids: list[str]) -> None:
        membership.remove(self.group, [self.group.members[each] for each in member_ids], self.ctx)

    def change_topics(self, **topics: int) -> None:
        """Create topics, add partitions, or with 0 delete them."""
        created = {name for name, count in topics.items() if count and name not in self.image.topics}
        for name, count in topics.items():
            if count:
                set_topic(self.image, name, count)
            else:
                topic = self.image.topics.pop(name)
                del self.image.topics_by_id[topic.topic_id]
        subscription.on_topics_changed(self.group, created, self.ctx)
        self.take()
        if self.group.topic_names() & topics.keys():
            self.group.must_refresh = True

    def send(
        self, request: ConsumerGroupHeartbeatRequest, version: int = 1
    ) -> ConsumerGroupHeartbeatResponse:
        return cast("ConsumerGroupHeartbeatResponse", super().send((request, version)))

    def handle(self, request: tuple[ConsumerGroupHeartbeatRequest, int]) -> ConsumerGroupHeartbeatResponse:
        heartbeat.check_request(*request, self.settings)
        response = heartbeat.heartbeat(self.group, request[0], CLIENT, self.ctx)
        self.take()
        return response

    def leave(self, member_id: str, epoch: int = -1, instance_id: str | None = None) -> None:
        member = membership.authenticated_member(self.group, member_id, instance_id)
        if epoch == LEAVE_STATIC_EPOCH:
            membership.leave_temporarily(self.group, member)
        else:
            membership.remove(self.group, [member], self.ctx)
        self.take()


class Consumer(EpochConsumer[Driver]):
    """A client as KIP-848 describes it: takes over its assignment, and then reports it."""

    def __init__(
        self,
        driver: Driver,
        member_id: str,
        *topics: str,
        regex: str | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
    ) -> None:
        super().__init__(driver, member_id, topics or (() if regex else ("a",)))
        self.regex = regex
        self.instance_id = instance_id
        self.assignor = assignor

    def request(self) -> ConsumerGroupHeartbeatRequest:
        """A full request when it joins or missed a response; otherwise it reports its partitions."""
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            topic_partitions=reported(self.held),
        )
        if self.epoch and not self.sends_everything:
            return request
        return msgspec.structs.replace(
            request,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=self.topics,
            subscribed_topic_regex=self.regex,
            server_assignor=self.assignor,
        )


def reported(held: TopicPartitions) -> list[RequestTopicPartitions]:
    names = {name for name, _ in held}
    return [
        RequestTopicPartitions(topic_id=topic_id(name), partitions=sorted(p for n, p in held if n == name))
        for name in sorted(names)
    ]


def beat_until_stable(*consumers: Consumer, rounds: int = 6) -> None:
    for _ in range(rounds):
        for consumer in consumers:
            consumer.beat()
