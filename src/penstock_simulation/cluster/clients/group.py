"""Groups whose members join and leave: of consumers and of share consumers."""

import asyncio
import base64
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from penstock_simulation.cluster.clients.client import Client


class GroupMember(Protocol):
    async def run(self, life_s: float) -> None: ...


MemberT = TypeVar("MemberT", bound=GroupMember)
_LIFE_S_MEAN = 8


def new_member_id(client: Client) -> str:
    return base64.urlsafe_b64encode(client.random.randbytes(16)).decode().rstrip("=")


class Group(Generic[MemberT]):
    """Replaces members that have ended: some leave the group, some fall silent."""

    def __init__(self, client: Client, topic: str, new_member: Callable[[bytes], MemberT]) -> None:
        """`new_member` makes a member, given the id of the topic."""
        self._client = client
        self._topic = topic
        self._new_member = new_member
        self.members: dict[asyncio.Task[None], MemberT] = {}
        self.is_stable = False
        """Set when members are to stay."""

    async def run(self, member_count: int) -> None:
        topic_id = (await self._client.retry(lambda: self._client.find((self._topic, 0)))).topic_id
        random = self._client.random
        while True:
            for task in [each for each in self.members if each.done()]:
                del self.members[task]
            while len(self.members) < member_count:
                member = self._new_member(topic_id)
                life_s = 1e9 if self.is_stable else random.expovariate(1 / _LIFE_S_MEAN)
                self.members[asyncio.ensure_future(member.run(life_s))] = member
            await asyncio.sleep(random.uniform(0.2, 1))
