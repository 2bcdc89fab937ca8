import asyncio

import pytest

from penstock.cluster.metadata.log import MetadataLog
from penstock.protocol.messages import metadata_records as mr
from tests.cluster.support import MemorySink, metadata_log

A, B = b"a" * 16, b"b" * 16


def topic(name: str, topic_id: bytes) -> list[mr.MetadataRecord]:
    return [mr.TopicRecord(name=name, topic_id=topic_id)]


def log_on(sink: MemorySink) -> MetadataLog:
    return metadata_log(sink)


def test_records_are_applied_only_once_they_are_committed() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = log_on(sink)
        sink.gate = asyncio.get_running_loop().create_future()
        appending = asyncio.create_task(log.append(topic("t", A)))
        await sink.appending.wait()
        assert log.image.topic("t") is None
        sink.gate.set_result(None)
        await appending
        assert log.image.topic("t") is not None
        assert (log.image.offset, sink.next_offset) == (0, 1)

    asyncio.run(scenario())


def test_records_that_the_disk_refused_are_never_applied() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = log_on(sink)
        sink.gate = asyncio.get_running_loop().create_future()
        sink.gate.set_exception(OSError("no room"))
        with pytest.raises(OSError, match="no room"):
            await log.append(topic("t", A))
        assert log.image.topics == {}

    asyncio.run(scenario())
