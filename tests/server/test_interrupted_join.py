"""A node that crashes while it joins, with less of the metadata on its disk than names the voters."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.cluster.quorum.quorum_state import QuorumStateFile
from penstock.cluster.raft.values import Election
from penstock.config.broker import BrokerConfig
from penstock.protocol.records.batch import iter_batches
from penstock.server.broker import Broker, StartFailed
from penstock.server.ports import real_ports
from penstock.storage.directory.metadata_files import Meta, write_meta
from penstock.storage.files import RealFileSystem

METADATA = "__cluster_metadata-0"
SEGMENT = f"{0:020d}.log"


async def node(data: Path, node_id: int, member: Broker | None = None, *, joins: bool = True) -> Broker:
    """A broker that joins the member given, or knows only its secret."""
    config = BrokerConfig(
        {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(data), "node.id": str(node_id)}
    )
    join = [] if member is None or not joins else [(member.endpoints[0].host, member.endpoints[0].port)]
    broker = Broker(config, real_ports(), join=join, secret=None if member is None else member.secret.value)
    await broker.start()
    return broker


def two_records_of(data: Path) -> bytes:
    """The metadata log of a node up to the third record, which names the voters."""
    content = (data / METADATA / SEGMENT).read_bytes()
    return content[: next(position for position, header in iter_batches(content) if header.base_offset == 2)]


@contextlib.asynccontextmanager
async def interrupted_join(tmp_path: Path) -> AsyncIterator[tuple[Broker, Path]]:
    """A node, and the directory of another that had two records of the metadata when it crashed while it joined."""
    first = await node(tmp_path / "1", 1)
    try:
        data, files = tmp_path / "2", RealFileSystem()
        (data / METADATA).mkdir(parents=True)
        cluster_id = first.services.cluster_id
        write_meta(files, str(data), Meta(cluster_id=cluster_id, node_id=2, directory_id=b"2" * 16))
        (data / METADATA / SEGMENT).write_bytes(two_records_of(tmp_path / "1"))
        QuorumStateFile(files, str(data / METADATA), cluster_id).write(Election(epoch=1, leader_id=1))
        yield first, data
    finally:
        await first.stop()


async def test_a_node_that_crashed_while_joining_resumes_the_join(tmp_path: Path) -> None:
    async with interrupted_join(tmp_path) as (first, data):
        await first.services.controller.auto_create_topic("made-meanwhile")
        second = await node(data, 2, first)
        try:
            assert second.services.controller.image.topic("made-meanwhile") is not None
            assert second.services.quorum.leader_id == 1
        finally:
            await second.stop()


async def test_a_node_that_crashed_while_joining_does_not_create_its_own_cluster(
    tmp_path: Path,
) -> None:
    async with interrupted_join(tmp_path) as (first, data):
        with pytest.raises(
            StartFailed, match=r"stopped while it joined another\. Start it again with --join"
        ):
            await node(data, 2, first, joins=False)


async def test_a_node_that_crashed_while_creating_a_cluster_completes_it(tmp_path: Path) -> None:
    await (await node(tmp_path, 1)).stop()
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (tmp_path / name).unlink()
    (tmp_path / METADATA / SEGMENT).write_bytes(two_records_of(tmp_path))
    alone = await node(tmp_path, 1)
    assert alone.services.quorum.is_alone
    await alone.stop()
