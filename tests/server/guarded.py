"""A broker with ACLs, and requests of anybody to it, in-process: from frame to answer through its dispatcher."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from penstock.client.core.codec import decode_body
from penstock.protocol.headers import decode_response_header
from penstock.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from penstock.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from penstock.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from penstock.runtime.completion import Reply
from penstock.security.acl import AccessControlEntry, PermissionType
from penstock.security.acl_authorizer import STANDARD_AUTHORIZER
from penstock.security.operations import Operation
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.resources import PatternType, ResourceType
from penstock.server.connections import Peer
from penstock.server.dispatch.dispatcher import Dispatcher
from tests.server.live import Live, TopicHandle, api_of, running_broker, unique_name
from tests.server.raw import frame_of

ADMIN = Principal("admin")
HOST = "127.0.0.1"
SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": f"{ADMIN}"}


_numbers = itertools.count()


class Caller:
    """A connected client as the broker sees it."""

    def __init__(self, dispatcher: Dispatcher, who: Principal) -> None:
        self._dispatcher = dispatcher
        self.peer = Peer("PLAINTEXT", HOST, 1)
        self.peer.principal = who

    @property
    def name(self) -> str:
        return str(self.peer.principal)

    async def send(self, request: Any, version: int | None = None) -> Any:
        """The answer of the newest version, or of the one given; None when nothing is answered."""
        spec = api_of(type(request))
        version = spec.versions[-1] if version is None else version
        answer = self._dispatcher.dispatch(bytearray(frame_of(request, version)[4:]), self.peer)
        if isinstance(answer, Reply):
            answer = await answer
        data = b"".join(answer)[4:]
        if not data:
            return None
        _, position = decode_response_header(data, spec.key, version)
        return decode_body(data, spec.key, version, position)


class Guarded:
    def __init__(self, live: Live) -> None:
        self.live = live
        self.services = live.services
        self._dispatcher = Dispatcher(live.services)
        self.admin = self.caller(ADMIN)
        self.broker = self.caller(ANONYMOUS)
        """Another broker of the cluster, which has proved it."""
        self.broker.peer.has_proved = True

    def caller(self, who: Principal) -> Caller:
        return Caller(self._dispatcher, who)

    async def allow(self, *entries: AccessControlEntry) -> None:
        response = await self.admin.send(CreateAclsRequest(creations=[_creation(e) for e in entries]))
        assert [r for r in response.results if r.error_code] == []

    async def create_topic(self, name: str | None = None) -> TopicHandle:
        name = name or unique_name()
        asked = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        (made,) = (await self.admin.send(CreateTopicsRequest(topics=[asked]))).topics
        assert made.error_code == 0, made
        return TopicHandle(name, made.topic_id)

    def newcomer(self) -> Caller:
        """A principal that no ACL names."""
        return self.caller(Principal(f"user-{next(_numbers)}"))

    def offset_of(self, topic: str, offset: int) -> OffsetCommitRequestTopic:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        return OffsetCommitRequestTopic(name=topic, partitions=[partition])

    async def forget(self, who: Principal) -> None:
        """Remove all that ACLs say of somebody."""
        await self.admin.send(DeleteAclsRequest(filters=[everything_about(who)]))


def everything_about(who: Principal) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=str(who),
        host_filter=None,
        operation=Operation.ANY,
        permission_type=PermissionType.ANY,
    )


def _creation(entry: AccessControlEntry) -> AclCreation:
    return AclCreation(
        resource_type=entry.resource_type,
        resource_name=entry.resource_name,
        resource_pattern_type=entry.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )


@contextlib.asynccontextmanager
async def guarded_broker(directory: Path, more: Mapping[str, str] | None = None) -> AsyncIterator[Guarded]:
    async with running_broker(directory, SETTINGS | dict(more or {})) as live:
        yield Guarded(live)
