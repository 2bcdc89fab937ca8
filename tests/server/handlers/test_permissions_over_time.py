"""A request that waits acts on what it was permitted when it came."""

import asyncio
from pathlib import Path

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import FetchPartition
from penstock.security.acl import AccessControlEntry, PermissionType
from penstock.security.operations import Operation
from penstock.security.principal import Principal
from penstock.security.resources import PatternType, ResourceType
from tests.server.guarded import SETTINGS, Guarded
from tests.server.live import batch, fetch_request, fetch_topic, produce_request, running_broker, values_in

VERSION = 18


async def test_a_long_poll_does_not_read_a_denied_topic_that_was_unknown_at_first(
    tmp_path: Path,
) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        guarded = Guarded(live)
        secret, open_topic = await guarded.create_topic("secret"), await guarded.create_topic("open")
        produced = await guarded.admin.send(produce_request(secret, {0: batch(b"for few eyes")}))
        assert produced.responses[0].partition_responses[0].error_code == 0
        entry = AccessControlEntry(
            resource_type=ResourceType.TOPIC,
            resource_name="open",
            pattern_type=PatternType.LITERAL,
            principal="User:eve",
            host="*",
            operation=Operation.READ,
            permission_type=PermissionType.ALLOW,
        )
        await guarded.allow(entry)
        part = {0: FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)}
        topics = [fetch_topic(each, VERSION, part) for each in (open_topic, secret)]
        image, replicas = live.services.controller.image, live.services.replicas
        topic, by_id = image.topics_by_id.pop(secret.id), replicas._by_id.pop(secret.id)  # not heard of yet
        polling = asyncio.ensure_future(
            guarded.caller(Principal("eve")).send(fetch_request(topics, max_wait_ms=500), VERSION)
        )
        await asyncio.sleep(0)
        image.topics_by_id[secret.id], replicas._by_id[secret.id] = topic, by_id
        answer = await polling
        codes = {each.topic_id: ErrorCode(each.partitions[0].error_code) for each in answer.responses}
        assert codes[secret.id] is ErrorCode.UNKNOWN_TOPIC_ID
        assert [v for t in answer.responses for p in t.partitions for v in values_in(p)] == []
