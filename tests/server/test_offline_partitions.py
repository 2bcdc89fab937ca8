"""Partitions with a log that cannot be opened: logged once, retried where that can help, without effect on others."""

import errno
import logging
import shutil
from pathlib import Path

import pytest

from penstock.server.broker import StartFailed
from penstock.storage.files import File, RealFileSystem
from tests.server.live import batch, code, running_broker, values_in


class CountingFiles(RealFileSystem):
    """Counts what is opened, and refuses paths that contain `refused`."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.refused: str | None = None

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        self.opened.append(path)
        if self.refused is not None and self.refused in path:
            raise OSError(errno.EIO, "Input/output error", path)
        return super().open(path, create=create, writable=writable)


async def test_a_damaged_log_is_scanned_once_and_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        damaged = await client.create_topic(configs={"segment.records": "3"})
        sound = await client.create_topic()
        for number in range(7):
            await client.produce(damaged, batch(b"%d" % number))
        await client.produce(sound, batch(b"c"))
        await client.close()
    for path in (tmp_path / ".kafka_cleanshutdown", *tmp_path.glob(".journal.*")):
        path.unlink()
    points = tmp_path / "recovery-point-offset-checkpoint"
    points.write_text(points.read_text().replace(f"{damaged.name} 0 7", f"{damaged.name} 0 5"))
    segment = tmp_path / f"{damaged.name}-0" / "00000000000000000003.log"
    segment.write_bytes(segment.read_bytes()[: segment.stat().st_size // 3])
    files = CountingFiles()
    caplog.clear()
    async with running_broker(tmp_path, files=files) as live:
        files.opened.clear()
        client = await live.connect()
        for _ in range(3):
            assert code((await client.produce(damaged, batch(b"d"))).error_code) == "KAFKA_STORAGE_ERROR"
            assert code((await client.fetch(damaged, 0)).error_code) == "KAFKA_STORAGE_ERROR"
        assert not [path for path in files.opened if damaged.name in path]
        assert values_in(await client.fetch(sound, 0)) == [b"c"]
        await client.close()
    logged = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert [r.getMessage().split(":")[0] for r in logged] == [f"Partition {damaged.name}-0 is offline"]
    assert "later segments are there" in logged[0].getMessage()
    assert logged[0].exc_info is None


async def test_a_log_that_failed_to_open_is_opened_when_the_disk_works_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"a"))
        await client.close()
    files = CountingFiles()
    caplog.set_level(logging.INFO, "penstock.cluster.replicas")
    async with running_broker(tmp_path, files=files) as live:
        client = await live.connect()
        files.refused = topic.name
        for _ in range(3):
            assert code((await client.produce(topic, batch(b"b"))).error_code) == "KAFKA_STORAGE_ERROR"
        files.refused = None
        assert (await client.produce(topic, batch(b"b"))).base_offset == 1
        await client.close()
    logged = [r.getMessage() for r in caplog.records if r.name == "penstock.cluster.replicas"]
    assert len(logged) == 2, logged
    assert logged[0].startswith(f"Partition {topic.name}-0 is offline")
    assert logged[1] == f"Partition {topic.name}-0 is online again"


async def test_a_log_without_a_topic_is_set_aside_at_the_next_start(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"a"))
        await client.close()
    shutil.copytree(tmp_path / f"{topic.name}-0", tmp_path / "forgotten-0")
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        forgotten = await client.create_topic(name="forgotten")
        assert values_in(await client.fetch(forgotten, 0)) == []
        await client.close()
    assert len(list(tmp_path.glob("forgotten-0.*-stray"))) == 1


@pytest.mark.parametrize("damage", ["gone", "zeros"])
async def test_a_data_directory_without_its_metadata_is_not_formatted_again(
    tmp_path: Path, damage: str
) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"a"))
        await client.close()
    metadata = tmp_path / "__cluster_metadata-0"
    if damage == "gone":
        shutil.rmtree(metadata)
    else:
        (tmp_path / ".kafka_cleanshutdown").unlink()
        (tmp_path / "recovery-point-offset-checkpoint").unlink()
        segment = metadata / "00000000000000000000.log"
        segment.write_bytes(bytes(segment.stat().st_size))
    with pytest.raises(StartFailed, match=r"restore (it|the data directory) from a backup"):
        async with running_broker(tmp_path):
            pass
    assert (tmp_path / f"{topic.name}-0").is_dir()
