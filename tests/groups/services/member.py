"""A member of a group with epochs on a live broker."""

from typing import Any, Self

from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.server.live import Client, TopicHandle, code


class LiveMember:
    def __init__(self, client: Client, group: str, member_id: str = "m1", *topics: TopicHandle) -> None:
        self.client = client
        self.group = group
        self.member_id = member_id
        self.topics = topics
        self.epoch = 0
        self.held: dict[bytes, list[int]] = {}

    async def find(self) -> Self:
        response = await self.client.send(FindCoordinatorRequest(key=self.group), 1)
        assert code(response.error_code) == "NONE", response
        return self

    async def heartbeat(self, request: Any, version: int | None = None) -> Any:
        """Send a heartbeat, and take over the epoch and the assignment of the response."""
        response = await (
            self.client.send(request) if version is None else self.client.send(request, version)
        )
        if not response.error_code:
            self.epoch = response.member_epoch
            self.member_id = response.member_id or self.member_id
            if response.assignment is not None:
                self.held = {each.topic_id: each.partitions for each in response.assignment.topic_partitions}
        return response

    @property
    def numbers(self) -> list[int]:
        return sorted(p for each in self.held.values() for p in each)
