import asyncio
import os
import shutil
from pathlib import Path

import pytest

from penstock.cli.main import run
from tests.server.live import batch, running_broker, within


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory after a clean stop; its topic has segments that begin at 0, 2 and 4."""
    data = tmp_path_factory.mktemp("stopped") / "data"

    async def fill() -> None:
        async with running_broker(data) as live:
            client = await live.connect()
            topic = await client.create_topic(name="orders", configs={"segment.records": "2"})
            for number in range(5):
                await client.produce(topic, batch(b"%d" % number))
            await client.close()

    asyncio.run(within(30, fill()))
    return data


@pytest.fixture
def data(stopped: Path, tmp_path: Path) -> Path:
    shutil.copytree(stopped, tmp_path / "data")
    return tmp_path / "data"


def test_verify_finds_nothing_missing_after_a_clean_stop(data: Path) -> None:
    assert run(["log", "verify", str(data)]) == 0


@pytest.mark.parametrize("is_partition", [False, True])
def test_verify_finds_a_segment_that_was_removed_after_a_clean_stop(
    data: Path, is_partition: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data / "orders-0" / f"{2:020d}.log"
    path.unlink()
    assert run(["log", "verify", str(data / "orders-0" if is_partition else data)]) == 1
    assert f"{path}: byte 0, offset 2: the file is missing, which had 138 bytes" in capsys.readouterr().out


def test_verify_finds_a_directory_that_was_removed_after_a_clean_stop(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(data / "orders-0")
    assert run(["log", "verify", str(data)]) == 1
    assert capsys.readouterr().out.count("orders-0") == 3


def test_verify_finds_a_segment_that_was_cut_between_two_batches(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data / "orders-0" / f"{2:020d}.log"
    os.truncate(path, path.stat().st_size // 2)
    assert run(["log", "verify", str(data), "--topic", "orders"]) == 1
    assert (
        f"{path}: byte 69, offset 2: the file ends here, but had 138 bytes when the broker stopped"
        in capsys.readouterr().out
    )


def test_verify_of_another_topic_does_not_name_it(data: Path) -> None:
    shutil.rmtree(data / "orders-0")
    assert run(["log", "verify", str(data), "--topic", "__cluster_metadata"]) == 0
