"""Rules of the journal that are broken on purpose: each is noticed by a named test.

docs/replication.md has the table.
"""

import asyncio
import builtins
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from penstock.storage.journal import entries, reading
from penstock.storage.journal.entries import Entry
from penstock.storage.journal.journal import Journal
from penstock.storage.journal.journal_file import JournaledLog
from penstock.storage.ring import Ended
from tests.storage.journal import test_power_cuts as power_cuts


def entries_without_checksum(patch: pytest.MonkeyPatch) -> None:
    def take_any(data: memoryview, position: int, _header_crc: int) -> Entry | None:
        return entries._unchecked_entry(data, position)

    patch.setattr(reading, "decode_entry", take_any)


def newest_file_first(patch: pytest.MonkeyPatch) -> None:
    def sorted_backwards(items: Iterable[Any], key: Callable[[Any], Any]) -> list[Any]:
        return builtins.sorted(items, key=key, reverse=True)

    patch.setattr(reading, "sorted", sorted_backwards, raising=False)


def files_used_again_without_a_sync_of_segments(patch: pytest.MonkeyPatch) -> None:
    async def sync_nothing(_journal: Journal, _logs: Iterable[JournaledLog]) -> None:
        await asyncio.sleep(0)

    patch.setattr(Journal, "_sync_segments", sync_nothing)


def rounds_acknowledged_before_their_sync(patch: pytest.MonkeyPatch) -> None:
    sync = Journal._sync

    def acknowledge_first(journal: Journal, ended: Ended) -> None:
        asyncio.get_running_loop().call_soon(ended, None)
        sync(journal, lambda _failure: None)

    patch.setattr(Journal, "_sync", acknowledge_first)


BYTES = power_cuts.test_a_power_cut_at_each_byte_of_a_round_takes_nothing_that_was_acknowledged
REUSE = (
    power_cuts.test_a_power_cut_at_each_operation_of_checkpoints_and_reuse_takes_nothing_that_was_acknowledged
)
LEFT_OVER = power_cuts.test_what_a_file_still_has_of_its_earlier_use_does_not_count
TWICE = power_cuts.test_a_recovery_that_a_second_power_cut_ends_at_any_operation_is_done_by_the_next


@pytest.mark.parametrize(
    ("mutant", "test"),
    [
        (entries_without_checksum, LEFT_OVER),
        (newest_file_first, TWICE),
        (files_used_again_without_a_sync_of_segments, REUSE),
        (rounds_acknowledged_before_their_sync, BYTES),
    ],
)
def test_a_journal_with_a_broken_rule_fails_a_test(
    mutant: Callable[[pytest.MonkeyPatch], None], test: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        test()
