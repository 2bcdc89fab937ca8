"""A log of ten batches of one record each, whose bytes a test corrupts."""

import asyncio
from pathlib import Path

from penstock.protocol.records.batch import HEADER_SIZE
from penstock.storage.damage.damage import Damage
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from tests.storage.logs import append, batch_of, close, new_log, reopened, sync

COUNT = 10
SIZE = len(batch_of("0"))
CONTENT, LENGTH, MAGIC, BASE_OFFSET, EPOCH, EPOCH_SIGN = HEADER_SIZE + 3, 9, 16, 6, 13, 12
LAST_OFFSET = 24
"""The number of offsets of a batch: seed 252 of the simulated clusters trusted it, and cut the batches after it."""


def log_of_batches(path: Path, *, index_interval_bytes: int = 100) -> Log:
    log = new_log(str(path), index_interval_bytes=index_interval_bytes)
    for number in range(COUNT):
        append(log, str(number))
    sync(log)
    return log


def content(log: Log) -> bytearray:
    with open(log.segments[0].log_path, "rb") as file:
        return bytearray(file.read(log.segments[0].size_bytes))


def corrupt(log: Log, offset: int, place: int = CONTENT) -> None:
    position = offset * SIZE + place
    with open(log.segments[0].log_path, "r+b") as file:
        file.seek(position)
        old = file.read(1)[0]
        file.seek(position)
        file.write(bytes([old ^ 0x40]))


def reopened_with_damage(path: Path, offset: int) -> tuple[Log, list[bool]]:
    """The log after a clean stop, with a corrupt batch at `offset`, and a list that grows with each suspicion."""
    log = log_of_batches(path)
    close(log)
    corrupt(log, offset)
    again = reopened(log, was_clean=True, recovery_point=COUNT)
    suspicions: list[bool] = []
    again.on_suspicion = lambda: suspicions.append(True)
    return again, suspicions


def check(log: Log) -> list[Damage]:
    async def rest() -> None:
        pass

    async def check_segments() -> None:
        for segment in list(log.segments):
            await LogRepair(log).check(segment, rest)

    asyncio.run(check_segments())
    return list(log.damaged)


def damage(first: int, last: int) -> Damage:
    return Damage(
        segment=0,
        position=first * SIZE,
        size_bytes=(last - first + 1) * SIZE,
        base_offset=first,
        next_offset=last + 1,
    )
