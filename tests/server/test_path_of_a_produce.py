"""The page that lists the files on the path of a lone Produce lists exactly the files that it uses."""

import asyncio
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Self

import pytest

import penstock
from tests.server.live import Client, Live, batch, produce_request
from tests.server.raw import connected, frame_of, read_answer

ROOT = Path(__file__).parents[2]
SOURCE = str(Path(penstock.__file__).parent) + "/"
SECTION = "## The path of a request"
ROW = re.compile(r"^\| `([\w/]+)` \|", re.MULTILINE)
VERSION = 10
WARM_UP = 20
TRIES = 25


def listed() -> list[str]:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    section = page[page.index(SECTION) + len(SECTION) :]
    return ROW.findall(section[: section.index("\n## ")])


class Tracer:
    """Notes the files of the broker whose functions are called on the event loop, in order."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(SOURCE):
            self.files[file.removeprefix(SOURCE).removesuffix(".py")] = None


async def shortest_path(live: Live, frame: bytes) -> list[str]:
    """Of several requests the one with the fewest files: no timer of the broker fired while it was served."""
    reader, writer = await connected(live)
    for _ in range(WARM_UP):
        writer.write(frame)
        await read_answer(reader)
    shortest: list[str] | None = None
    for _ in range(TRIES):
        await asyncio.sleep(0.01)
        with Tracer() as tracer:
            writer.write(frame)
            await read_answer(reader)
            for _ in range(3):
                await asyncio.sleep(0)
        if shortest is None or len(tracer.files) < len(shortest):
            shortest = list(tracer.files)
    writer.close()
    assert shortest is not None
    return shortest


async def test_the_page_lists_the_files_of_a_lone_produce(live: Live, client: Client) -> None:
    if live.services.replicas.deps.flusher._ring is None:
        pytest.skip("without io_uring a thread syncs")
    journal = live.services.replicas.deps.flusher._journal
    if journal is None or any(each.direct is None for each in (*journal._live, *journal._spare)):
        pytest.skip("the file system takes no direct writes")
    topic = await client.create_topic()
    frame = frame_of(produce_request(topic, {0: batch(b"x" * 100)}, version=VERSION), VERSION)
    traced = await shortest_path(live, frame)
    assert sorted(listed()) == sorted(traced), f"in ARCHITECTURE.md, {SECTION!r}; the order is {traced}"
