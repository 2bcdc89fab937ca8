from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.leader_epochs import (
    CorruptCheckpoint,
    EpochEntry,
    LeaderEpochs,
    decode_checkpoint,
    encode_checkpoint,
)


def epochs_of(*pairs: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(EpochEntry(*pair) for pair in pairs)


def test_only_the_first_append_of_an_epoch_adds_an_entry() -> None:
    assert LeaderEpochs().latest_epoch is None
    assert LeaderEpochs().earliest is None
    epochs = LeaderEpochs()
    assert epochs.assign(2, 6)
    assert not epochs.assign(2, 6)
    assert not epochs.assign(2, 9)
    assert epochs.assign(5, 11)
    assert epochs.entries == [(2, 6), (5, 11)]
    assert epochs.latest_epoch == 5
    assert epochs.earliest == (2, 6)
    assert len(epochs) == 2


@pytest.mark.parametrize(
    ("epoch", "start_offset", "left"),
    [
        (4, 30, [(1, 0), (2, 10), (4, 30)]),  # an epoch within a gap pushes later ones out
        (3, 5, [(1, 0), (3, 5)]),  # so does an offset below those of later epochs
        (5, 15, [(1, 0), (2, 10), (5, 15)]),  # the same epoch, but earlier
        (6, 20, [(1, 0), (2, 10), (6, 20)]),  # nothing was written in epoch 5
        (0, 0, [(0, 0)]),
    ],
)
def test_entries_that_contradict_a_new_one_are_removed(
    epoch: int, start_offset: int, left: list[tuple[int, int]]
) -> None:
    epochs = epochs_of((1, 0), (2, 10), (5, 20))
    assert epochs.assign(epoch, start_offset)
    assert epochs.entries == left


@pytest.mark.parametrize(("epoch", "start_offset"), [(-1, 0), (0, -1)])
def test_an_undefined_epoch_cannot_be_assigned(epoch: int, start_offset: int) -> None:
    with pytest.raises(ValueError, match="epoch"):
        LeaderEpochs().assign(epoch, start_offset)


@pytest.mark.parametrize(
    ("requested", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 11)),  # older than any known: ends where the first known one starts
        (2, (2, 12)),
        (3, (2, 12)),  # unknown, between known ones: the one below, up to the one above
        (5, (5, 14)),
        (7, (7, 20)),  # the current epoch ends at the log's end
        (8, (-1, -1)),
    ],
)
def test_the_end_of_an_epoch_is_the_start_of_the_next(requested: int, answer: tuple[int, int]) -> None:
    epochs = epochs_of((2, 11), (5, 12), (7, 14))
    assert epochs.end_offset_for(requested, 20) == answer


def test_without_epochs_every_end_is_undefined() -> None:
    assert LeaderEpochs().end_offset_for(3, 20) == (-1, -1)


def test_an_offset_belongs_to_the_epoch_that_started_last_at_or_before_it() -> None:
    epochs = epochs_of((2, 11), (5, 12), (7, 14))
    assert [epochs.epoch_for(offset) for offset in (10, 11, 12, 13, 14, 99)] == [None, 2, 5, 5, 7, 7]
    assert [epochs.previous_epoch(epoch) for epoch in (2, 3, 5, 9)] == [None, 2, 2, 7]


@pytest.mark.parametrize(
    ("end_offset", "left"),
    [
        (15, [(2, 6), (3, 8), (4, 11)]),
        (11, [(2, 6), (3, 8)]),
        (9, [(2, 6), (3, 8)]),
        (6, []),
        (0, []),
        (-1, None),
    ],
)
def test_truncating_the_log_removes_the_epochs_that_start_there(
    end_offset: int, left: list[tuple[int, int]] | None
) -> None:
    entries = [(2, 6), (3, 8), (4, 11)]
    epochs = epochs_of(*entries)
    expected = entries if left is None else left
    assert epochs.truncate_from_end(end_offset) is (expected != entries)
    assert epochs.entries == expected


@pytest.mark.parametrize(
    ("start_offset", "left"),
    [
        (5, [(2, 6), (3, 8), (4, 11)]),
        (6, [(2, 6), (3, 8), (4, 11)]),
        (7, [(2, 7), (3, 8), (4, 11)]),
        (8, [(3, 8), (4, 11)]),
        (10, [(3, 10), (4, 11)]),
        (11, [(4, 11)]),
        (50, [(4, 50)]),
    ],
)
def test_a_higher_log_start_moves_the_first_epoch_up(start_offset: int, left: list[tuple[int, int]]) -> None:
    entries = [(2, 6), (3, 8), (4, 11)]
    epochs = epochs_of(*entries)
    assert epochs.truncate_from_start(start_offset) is (left != entries)
    assert epochs.entries == left


def test_clearing_removes_all_epochs() -> None:
    epochs = epochs_of((1, 2))
    epochs.clear()
    assert epochs.entries == []


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_epochs_and_offsets_always_ascend_and_the_last_assignment_is_kept(
    pairs: list[tuple[int, int]],
) -> None:
    epochs = LeaderEpochs()
    for epoch, offset in pairs:
        epochs.assign(epoch, offset)
        assert epochs.latest_epoch == epoch
        assert epochs.epoch_for(offset) == epoch
        entries = epochs.entries
        for before, after in pairwise(entries):
            assert before.epoch < after.epoch
            assert before.start_offset < after.start_offset


def test_the_checkpoint_has_kafkas_format() -> None:
    entries = [EpochEntry(0, 0), EpochEntry(3, 1041)]
    assert encode_checkpoint(entries) == b"0\n2\n0 0\n3 1041\n"
    assert decode_checkpoint(b"0\n2\n0 0\n3 1041\n") == entries
    assert decode_checkpoint(b"0\r\n1\r\n7\t 9\r\n") == [EpochEntry(7, 9)]


@given(st.lists(st.builds(EpochEntry, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))))
def test_checkpoints_round_trip(entries: list[EpochEntry]) -> None:
    assert decode_checkpoint(encode_checkpoint(entries)) == entries


@pytest.mark.parametrize("content", [b"", b"0\n", b"0\n0\n"])
def test_an_empty_checkpoint_has_no_entries(content: bytes) -> None:
    assert decode_checkpoint(content) == []


@pytest.mark.parametrize(
    "content",
    [
        b"1\n0\n",
        b"x\n0\n",
        b"0\nx\n",
        b"0\n2\n0 0\n",
        b"0\n0\n0 0\n",
        b"0\n1\n0\n",
        b"0\n1\n0 0 0\n",
        b"0\n1\n-1 0\n",
        b"0\n1\n0 9223372036854775808\n",
        b"0\n1\n2147483648 0\n",
        b"0\n1\n\n",
        b"\xff\xfe",
        b"0\n1\n" + b"9" * 5000 + b" 0\n",
    ],
)
def test_a_malformed_checkpoint_is_corrupt(content: bytes) -> None:
    with pytest.raises(CorruptCheckpoint):
        decode_checkpoint(content)


def test_only_changes_are_saved() -> None:
    epochs = LeaderEpochs()
    changes: list[Callable[[], object]] = [
        lambda: epochs.assign(3, 10),
        lambda: epochs.assign(5, 20),
        lambda: epochs.learn(4, 15),
        lambda: epochs.truncate_from_start(12),
        lambda: epochs.truncate_from_end(18),
    ]
    assert epochs.is_saved
    for change in changes:
        for is_saved in (False, True):  # the second time it changes nothing
            epochs.is_saved = True
            change()
            assert epochs.is_saved is is_saved
    assert epochs.latest_epoch == 4


def test_the_first_epoch_from_a_number_on_is_found() -> None:
    epochs = epochs_of((1, 0), (4, 10), (6, 30))
    assert [epochs.start_from(each) for each in (0, 1, 2, 4, 5, 6, 7)] == [0, 0, 10, 10, 30, 30, None]
