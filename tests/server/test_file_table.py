"""For each kind of file in a data directory: what a start, `penstock log verify`, a scrub and readers make of it when
it is flipped, cut or removed while the broker is stopped. Nothing that was acknowledged disappears in silence.
"""

import asyncio
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.server.file_table import (
    ACTIVE,
    ORDERS,
    SEALED,
    WHOLE,
    WHOLE_TRIMMED,
    Damage,
    Outcome,
    cut,
    cut_batch,
    flip,
    flip_batch,
    outcome,
    prepare,
    remove,
)

CLEAN, CRASH = "after a clean stop", "after a crash"
ALWAYS = (CLEAN, CRASH)
SEALED_LOG, ACTIVE_LOG = f"{ORDERS}-0/{SEALED}.log", f"{ORDERS}-0/{ACTIVE}.log"
METADATA = "__cluster_metadata-0"
METADATA_LOG = f"{METADATA}/{0:020d}.log"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Omitted fields mean no effect: all records are readable, and no damage is reported."""

    file: str
    damage: str
    do: Damage
    when: tuple[str, ...] = ALWAYS
    verify: bool = False
    """Whether `penstock log verify` exits with 1, before the start."""
    refuses: str | None = None
    """The broker does not start, and says this."""
    says: str | None = None
    """The broker starts, and logs this."""
    readers: dict[int, str] = {}
    """The errors that readers of these offsets get."""
    trimmed: dict[int, str] = {}
    scrub: tuple[tuple[int, int], ...] = ()
    """The offsets that are known to be damaged after a scrub."""


def errors(first: int, last: int, error: str = "CORRUPT_MESSAGE") -> dict[int, str]:
    return dict.fromkeys(range(first, last + 1), error)


def segment_rows() -> Iterator[Row]:
    """Batches of the sealed segment are one record each, 4 to 7; those of the active one are 8 and 9."""
    for number, place in ((0, "head"), (1, "middle"), (3, "tail")):
        offset = 4 + number
        yield Row(
            file=SEALED_LOG,
            damage=f"flip {place}",
            do=flip_batch(number),
            verify=True,
            readers={offset: "wrong checksum"},
            scrub=((offset, offset),),
        )
    for do, place, first in (
        (cut_batch(0, left_bytes=10), "head", 4),
        (cut_batch(2), "middle, between batches", 6),
        (cut_batch(3, left_bytes=60), "tail", 7),
    ):
        for when in ALWAYS:
            yield Row(
                file=SEALED_LOG,
                damage=f"cut {place}",
                do=do,
                when=(when,),
                verify=when == CLEAN or place != "middle, between batches",
                says=f"ERROR Lost records in orders-0: offsets {first} to 7 .*{SEALED}.log .*restore the file",
                readers=errors(first, 7),
                scrub=((first, 7),),
            )
    for when in ALWAYS:
        yield Row(
            file=SEALED_LOG,
            damage="remove",
            do=remove,
            when=(when,),
            verify=when == CLEAN,
            says="ERROR Lost records in orders-0: offsets 4 to 7 .*.log .*restore the file",
            readers=errors(4, 7),
            scrub=((4, 7),),
        )


def active_segment_rows() -> Iterator[Row]:
    yield Row(
        file=ACTIVE_LOG,
        damage="flip head",
        do=flip_batch(0),
        verify=True,
        readers={8: "wrong checksum"},
        scrub=((8, 8),),
    )
    yield Row(
        file=ACTIVE_LOG,
        damage="flip tail",
        do=flip_batch(1),
        when=(CLEAN,),
        verify=True,
        readers={9: "wrong checksum"},
        scrub=((9, 9),),
    )
    yield Row(
        file=ACTIVE_LOG,
        damage="flip tail",
        do=flip_batch(1),
        when=(CRASH,),
        verify=True,
        says=f"ERROR .*{ACTIVE}.log is damaged at byte 69 .offset 9.: the checksum does not match",
        readers=errors(9, 9),
        scrub=((9, 9),),
    )
    for do, place, first in (
        (cut_batch(0, left_bytes=10), "head", 8),
        (cut_batch(1, left_bytes=60), "tail", 9),
    ):
        yield Row(
            file=ACTIVE_LOG,
            damage=f"cut {place}",
            do=do,
            verify=True,
            says=f"ERROR Lost records in orders-0: offsets {first} to 9 .*{ACTIVE}.log .*restore the file",
            readers=errors(first, 9),
            scrub=((first, 9),),
        )
    for do, what, first in ((cut_batch(1), "cut middle, between batches", 9), (remove, "remove", 8)):
        for when in ALWAYS:
            yield Row(
                file=ACTIVE_LOG,
                damage=what,
                do=do,
                when=(when,),
                verify=when == CLEAN,
                says=f"ERROR Lost records in orders-0: offsets {first} to 9 .*.log .*restore the file",
                readers=errors(first, 9),
                scrub=((first, 9),),
            )


def derived_rows() -> Iterator[Row]:
    """Files of a partition that are made anew from its segments."""
    for name in (f"{SEALED}.index", f"{SEALED}.timeindex", "leader-epoch-checkpoint", f"{10:020d}.snapshot"):
        is_text = name == "leader-epoch-checkpoint"
        for damage, do in (("flip", flip_first_byte if is_text else flip), ("cut", cut), ("remove", remove)):
            yield Row(file=f"{ORDERS}-0/{name}", damage=damage, do=do)


def transaction_index_rows() -> Iterator[Row]:
    """After a crash, a change of an index below the recovery point cannot be detected."""
    name = f"{ORDERS}-0/{SEALED}.txnindex"
    for damage, do in (("flip", flip_producer), ("cut", cut), ("remove", remove)):
        yield Row(
            file=name,
            damage=damage,
            do=do,
            when=(CLEAN,),
            says=f"WARNING Rebuilt .*{name} from the log: it was missing or damaged",
        )
        aborted = {4: "aborted", 5: "aborted"}
        yield Row(file=name, damage=damage, do=do, when=(CRASH,), readers=aborted)


def flip_producer(path: Path) -> None:
    """Let the first entry name another producer."""
    content = bytearray(path.read_bytes())
    content[9] ^= 0x04
    path.write_bytes(content)


def checkpoint_rows() -> Iterator[Row]:
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        yield Row(file=name, damage="flip", do=raise_offset, when=(CLEAN,))
        yield Row(
            file=name,
            damage="flip",
            do=raise_offset,
            when=(CRASH,),
            says=f"ERROR .*{ACTIVE}.log ends at offset 10, but everything below 14 was durable, unless the checkpoint",
        )
        yield Row(file=name, damage="cut", do=cut, says=f"WARNING Ignored .*{name} ")
        yield Row(file=name, damage="remove", do=remove)
    name = "log-start-offset-checkpoint"
    for damage, do in (("flip", flip), ("cut", cut), ("remove", remove)):
        says = f"WARNING Ignored .*{name} " if damage == "cut" else None
        yield Row(file=name, damage=damage, do=do, when=(CLEAN,), says=says)
        deleted = {0: "0", 1: "1"}  # are there again
        yield Row(file=name, damage=damage, do=do, when=(CRASH,), says=says, trimmed=deleted)


def raise_offset(path: Path) -> None:
    content = path.read_bytes()
    assert b"orders 0 10" in content
    path.write_bytes(content.replace(b"orders 0 10", b"orders 0 14"))


def metadata_rows() -> Iterator[Row]:
    for damage, do, place in (
        ("flip", flip, r"byte \d+"),
        ("cut", cut, r"byte \d+"),
        ("remove", remove, "byte 0"),
    ):
        for when in ALWAYS:
            yield Row(
                file=METADATA_LOG,
                damage=damage,
                do=do,
                when=(when,),
                verify=damage != "remove" or when == CLEAN,
                refuses=f"{METADATA_LOG} is damaged at {place}.*(restore|backup)",
            )
    snapshot = f"{METADATA}/*.checkpoint"
    for damage, do in (("flip", flip), ("cut", cut)):
        yield Row(
            file=snapshot,
            damage=damage,
            do=do,
            refuses=r"\.checkpoint, the snapshot of the metadata up to offset \d+, is damaged at byte \d+: .*backup",
        )
    yield Row(file=snapshot, damage="remove", do=remove)  # the log still has its records
    state = f"{METADATA}/quorum-state"
    yield Row(
        file=state, damage="flip", do=flip_first_byte, refuses=f"{state} cannot be used .*remove the file"
    )
    yield Row(file=state, damage="cut", do=cut, refuses=f"{state} cannot be used .*remove the file")
    yield Row(file=state, damage="remove", do=remove, says=f"WARNING .*{state} is missing or out of date")


def identity_rows() -> Iterator[Row]:
    for damage, do in (("flip", flip_first_byte), ("cut", cut), ("remove", remove)):
        yield Row(file="meta.properties", damage=damage, do=do, refuses="meta.properties is .*: restore it")
    topic_id = f"{ORDERS}-0/partition.metadata"
    yield Row(
        file=topic_id,
        damage="flip",
        do=flip_topic_id,
        says=f"WARNING .*{topic_id} again: it was missing or damaged",
    )
    for damage, do in (("cut", cut), ("remove", remove)):
        yield Row(file=topic_id, damage=damage, do=do)
    yield Row(
        file="cluster.secret", damage="cut", do=cut, refuses="cluster.secret is damaged: .*Remove the file"
    )
    yield Row(file="cluster.secret", damage="remove", do=remove)
    yield Row(file="cluster.secret", damage="flip", do=flip_first_byte, refuses="cluster.secret is damaged")


def clean_stop_rows() -> Iterator[Row]:
    for damage, do in (("flip", flip), ("cut", cut), ("remove", remove)):
        yield Row(file=".kafka_cleanshutdown", damage=damage, do=do, when=(CLEAN,))
        says = None if damage == "remove" else "WARNING Ignored .*segment-inventory "
        yield Row(file="segment-inventory", damage=damage, do=do, when=(CLEAN,), says=says)


def journal_rows() -> Iterator[Row]:
    """A clean stop leaves nothing in it that means anything; see tests/crash for one that does."""
    yield Row(file=".journal.0", damage="flip", do=flip)
    yield Row(file=".journal.0", damage="flip of both headers", do=flip_headers, when=(CLEAN,))
    says = "ERROR .*journal.0 cannot be read"
    yield Row(
        file=".journal.0",
        damage="flip of both headers",
        do=flip_headers,
        when=(CRASH,),
        verify=True,
        says=says,
    )
    yield Row(file=".journal.0", damage="cut", do=cut)
    yield Row(file=".journal.0", damage="remove", do=remove)


def flip_headers(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    content[532] ^= 1
    path.write_bytes(content)


def flip_first_byte(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 0x44]) + content[1:])


def flip_topic_id(path: Path) -> None:
    """Let the file name another topic, whose id differs in one bit."""
    content = path.read_bytes()
    place = content.index(b"topic_id: ") + 15
    other = b"B" if content[place : place + 1] != b"B" else b"A"
    path.write_bytes(content[:place] + other + content[place + 1 :])


ROWS = [
    *segment_rows(),
    *active_segment_rows(),
    *derived_rows(),
    *transaction_index_rows(),
    *checkpoint_rows(),
    *metadata_rows(),
    *identity_rows(),
    *clean_stop_rows(),
    *journal_rows(),
]


@pytest.fixture(scope="module")
def prepared(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("prepared") / "data"
    runner.run(prepare(data))
    return data


@pytest.mark.parametrize(
    ("row", "when"),
    [pytest.param(row, when, id=f"{row.file}: {row.damage}, {when}") for row in ROWS for when in row.when],
)
async def test_a_damaged_file_has_the_documented_effect(
    prepared: Path, tmp_path: Path, row: Row, when: str
) -> None:
    data = tmp_path / "data"
    shutil.copytree(prepared, data)
    row.do(next(data.glob(row.file)))
    if when == CRASH:
        (data / ".kafka_cleanshutdown").unlink()
    found = await outcome(data)
    if row.refuses is not None:
        assert found.refusal is not None
        assert re.search(row.refuses, found.refusal), found.refusal
        assert found.verify == row.verify
        return
    assert found == Outcome(
        verify=row.verify,
        said=found.said,
        orders={**WHOLE, **row.readers},
        trimmed={**WHOLE_TRIMMED, **row.trimmed},
        scrub=row.scrub,
    )
    if row.says is not None:
        assert any(re.search(row.says, each) for each in found.said), found.said
    elif not row.scrub:
        assert not [each for each in found.said if each.startswith("ERROR")]


def test_every_kind_of_file_has_a_row_for_each_kind_of_damage() -> None:
    kinds = {(row.file, row.damage.split()[0]) for row in ROWS}
    files = {file for file, _ in kinds}
    assert kinds == {(file, damage) for file in files for damage in ("flip", "cut", "remove")}


def test_every_file_in_a_stopped_data_directory_has_a_row(prepared: Path) -> None:
    """But for what a row of another partition or segment stands for."""
    files = {row.file for row in ROWS}
    kinds = {Path(file).name if "/" not in file else Path(file).suffix or Path(file).name for file in files}
    for path in prepared.rglob("*"):
        if path.is_file() and path.name != ".lock":
            assert path.name in kinds or path.suffix in kinds, path
