"""The file that keeps known damage across restarts."""

import logging

import pytest

from penstock.storage.damage.checkpoint import (
    DAMAGE,
    CorruptDamageFile,
    DamageCheckpoint,
    decode_damages,
    encode_damages,
)
from penstock.storage.damage.damage import Damage
from penstock.storage.directory.checkpoints import PartitionName
from penstock_simulation.disk import FaultyDisk

A, B = PartitionName("a", 0), PartitionName("b-c", 12)


def damage(base_offset: int, size_bytes: int = 75) -> Damage:
    return Damage(
        segment=0,
        position=base_offset * 75,
        size_bytes=size_bytes,
        base_offset=base_offset,
        next_offset=base_offset + 1,
    )


def opened(disk: FaultyDisk) -> DamageCheckpoint:
    return DamageCheckpoint(disk, "/data", {A, B})


def test_the_format_is_one_line_for_each_range() -> None:
    known = {A: (damage(2), damage(5)), B: (damage(0),)}
    content = encode_damages(known)
    assert content.decode().splitlines() == [
        "0",
        "3",
        "a 0 0 150 75 2 3",
        "a 0 0 375 75 5 6",
        "b-c 12 0 0 75 0 1",
    ]
    assert decode_damages(content) == known


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"0\n",
        b"1\n0\n",
        b"0\n2\na 0 0 150 75 2 3\n",
        b"0\n1\na 0 0 150 75 2\n",
        b"0\n1\na 0 0 -1 75 2 3\n",
    ],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(CorruptDamageFile):
        decode_damages(content)


def test_damage_is_known_after_a_power_cut(disk: FaultyDisk) -> None:
    checkpoint = opened(disk)
    assert checkpoint.note(A, [damage(2)])
    checkpoint.prepare()()
    assert opened(disk.crash()).known == {A: (damage(2),)}


def test_no_file_is_written_without_damage(disk: FaultyDisk) -> None:
    checkpoint = opened(disk)
    assert not checkpoint.note(A, [])
    checkpoint.prepare()()
    assert not disk.exists(f"/data/{DAMAGE}")


def test_a_later_state_is_not_overwritten_by_an_earlier_one(disk: FaultyDisk) -> None:
    checkpoint = opened(disk)
    checkpoint.note(A, [damage(2)])
    earlier = checkpoint.prepare()
    checkpoint.note(A, [damage(2), damage(4)])
    checkpoint.prepare()()
    earlier()
    assert opened(disk).known == {A: (damage(2), damage(4))}


def test_a_repair_is_saved_only_once_it_is_durable(disk: FaultyDisk) -> None:
    checkpoint = opened(disk)
    checkpoint.note(A, [damage(2)])
    checkpoint.prepare()()
    assert not checkpoint.note(A, [])
    checkpoint.prepare(lambda name: name == A)()
    assert (checkpoint.known, opened(disk).known) == ({}, {A: (damage(2),)})
    assert not checkpoint.is_saved
    checkpoint.prepare()()
    assert opened(disk).known == {}
    assert checkpoint.is_saved


def test_a_new_log_does_not_inherit_the_damage_of_an_old_one_with_its_name(disk: FaultyDisk) -> None:
    checkpoint = opened(disk)
    checkpoint.note(A, [damage(2)])
    checkpoint.note(B, [damage(3)])
    checkpoint.prepare()()
    checkpoint.erase(A)
    assert opened(disk).known == {B: (damage(3),)}


def test_damage_of_deleted_logs_is_dropped(disk: FaultyDisk) -> None:
    checkpoint = opened(disk)
    checkpoint.note(A, [damage(2)])
    checkpoint.prepare()()
    assert DamageCheckpoint(disk, "/data", {B}).known == {}


def test_a_failed_write_is_logged_and_retried(disk: FaultyDisk, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint = opened(disk)
    checkpoint.note(A, [damage(2)])
    disk.fail("write", DAMAGE, times=1)
    with caplog.at_level(logging.WARNING):
        checkpoint.prepare()()
    assert "a restart forgets known damage" in caplog.text
    assert not checkpoint.is_saved
    checkpoint.prepare()()
    assert checkpoint.is_saved


def test_known_damage_is_logged_at_the_start(disk: FaultyDisk, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint = opened(disk)
    checkpoint.note(A, [damage(2)])
    checkpoint.prepare()()
    opened(disk)
    (message,) = caplog.messages
    assert message.startswith(f"Known damage in /data/a-0: {damage(2)}. These records")
