"""Rules of the journal, broken on purpose: for each, a named test fails.

docs/replication.md has the table.
"""

import asyncio
import builtins
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from penstock.runtime.offload import Offload
from penstock.storage.files import Buffer
from penstock.storage.journal import entries, journal, reading
from penstock.storage.journal.journal import Journal
from penstock.storage.journal.journal_file import JournaledLog
from penstock.storage.ring import Ended
from tests.storage.journal import test_power_cuts as power_cuts


def entries_without_checksum(patch: pytest.MonkeyPatch) -> None:
    def same_for_all(_data: Buffer, _seed: int = 0) -> int:
        return 0

    patch.setattr(entries, "crc32c", same_for_all)


def newest_file_first(patch: pytest.MonkeyPatch) -> None:
    def sorted_backwards(items: Iterable[Any], key: Callable[[Any], Any]) -> list[Any]:
        return builtins.sorted(items, key=key, reverse=True)

    patch.setattr(reading, "sorted", sorted_backwards, raising=False)


def files_reused_without_a_sync_of_segments(patch: pytest.MonkeyPatch) -> None:
    async def sync_nothing(_logs: Iterable[JournaledLog], _offload: Offload) -> None:
        await asyncio.sleep(0)

    def need_nothing(_log: JournaledLog, _end_offset: int) -> bool:
        return True

    patch.setattr(journal, "sync_segments", sync_nothing)
    patch.setattr(journal, "_is_needless", need_nothing)


def rounds_acknowledged_before_their_sync(patch: pytest.MonkeyPatch) -> None:
    sync = Journal._sync

    def acknowledge_first(each: Journal, ended: Ended) -> None:
        asyncio.get_running_loop().call_soon(ended, None)
        sync(each, lambda _failure: None)

    patch.setattr(Journal, "_sync", acknowledge_first)


REUSE = power_cuts.test_a_power_cut_at_any_operation_of_checkpoints_and_reuse_loses_no_acknowledged_record
LEFT_OVER = power_cuts.test_entries_of_an_earlier_use_of_a_file_are_ignored
TWICE = power_cuts.test_a_recovery_interrupted_by_a_power_cut_at_any_operation_is_completed_by_the_next


@pytest.mark.parametrize(
    ("mutant", "test"),
    [
        (entries_without_checksum, LEFT_OVER),
        (newest_file_first, TWICE),
        (files_reused_without_a_sync_of_segments, REUSE),
        (rounds_acknowledged_before_their_sync, REUSE),
    ],
)
def test_a_journal_with_a_broken_rule_fails_a_test(
    mutant: Callable[[pytest.MonkeyPatch], None], test: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_no_damage(*_: object) -> None:
        """So that the check of damage is not what fails."""

    monkeypatch.setattr(reading, "_find_damage", find_no_damage)
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match=r"records are lost|it was never written"):
        test()
