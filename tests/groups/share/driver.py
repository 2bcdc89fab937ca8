"""Drives one share group as its service would."""

from penstock.groups.base.assignment import Assignment, difference, union
from penstock.groups.base.context import ShareSettings
from penstock.groups.share import heartbeat
from penstock.groups.share.group import ShareGroup
from penstock.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.groups.base.driver import CLIENT, SESSION_MS, EpochConsumer, EpochDriver, set_topic, topic_id

SETTINGS = ShareSettings(session_timeout_ms=SESSION_MS, assignment_interval_ms=0)


class Driver(EpochDriver[ShareGroup, ShareSettings]):
    """With the share coordinator."""

    make_group = ShareGroup

    def __init__(self, settings: ShareSettings = SETTINGS, **topics: int) -> None:
        super().__init__(settings, topics)
        self.deleted = 0
        self.asked: list[Assignment] = []
        """Requests that the share coordinator has not answered."""

    def remove_members(self, member_ids: list[str]) -> None:
        heartbeat.remove(self.group, [self.group.members[each] for each in member_ids], self.ctx)

    def change_topics(self, **topics: int) -> None:
        """Create topics, add partitions, or with 0 delete them. A topic that is created again has another id."""
        for name, count in topics.items():
            if count:
                set_topic(self.image, name, count, bytes([self.deleted]) + topic_id(name)[1:])
                continue
            topic = self.image.topics.pop(name)
            del self.image.topics_by_id[topic.topic_id]
            self.group.put_state_partitions(self.group.state_partitions.remove([topic.topic_id]))
            self.deleted += 1
        self.take()
        if self.group.topic_names() & topics.keys():
            self.group.must_refresh = True

    def handle(self, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
        heartbeat.check_request(request)
        response = heartbeat.heartbeat(self.group, request, CLIENT, self.ctx)
        missing = heartbeat.uninitialized(self.group, self.ctx)
        if missing:
            names = {each: self.image.topics_by_id[each].name for each in missing}
            known = self.group.state_partitions
            self.group.put_state_partitions(known.begin_initializing(missing, names))
        self.take()
        if missing and not self.refuses:
            self.group.in_flight = union(self.group.in_flight, missing)
            self.asked.append(missing)
        return response

    def share_coordinator_answers(self, *, succeeds: bool = True) -> None:
        """The oldest request."""
        partitions = self.asked.pop(0)
        self.group.in_flight = difference(self.group.in_flight, partitions)
        existing = {each: partitions[each] for each in partitions if each in self.image.topics_by_id}
        known = self.group.state_partitions
        self.group.put_state_partitions(known.end_initializing(partitions, existing if succeeds else {}))
        self.take()

    def leave(self, member_id: str) -> ShareGroupHeartbeatResponse:
        response = heartbeat.leave(self.group, member_id, self.ctx)
        self.take()
        return response

    def fail_over(self) -> None:
        """Another broker takes over: it has only the log, and does not wait for the share coordinator."""
        self.group = self.replayed()
        self.asked.clear()
        self.group.resume(self.ctx.now, self.settings.session_timeout_ms)


class Consumer(EpochConsumer[Driver]):
    """A client as KIP-932 describes it: sends its subscription when it joins, and reads its assignment."""

    def __init__(self, driver: Driver, member_id: str, *topics: str) -> None:
        super().__init__(driver, member_id, topics or ("a",))

    def request(self) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id="g",
            member_id=self.member_id,
            member_epoch=self.epoch,
            subscribed_topic_names=self.topics if self.epoch == 0 or self.sends_everything else None,
        )

    def receive(self, response: ShareGroupHeartbeatResponse) -> None:
        super().receive(response)
        self.take_over()
