import pytest

from penstock.protocol.records.batch import set_base_offset_and_epoch
from penstock.storage.errors import AppendRejected
from penstock.storage.log.replicated import prepare_replicated
from tests.storage.logs import batch_of


def test_a_fetch_without_a_whole_batch_gives_no_batches() -> None:
    assert prepare_replicated(b"", 0) == []
    assert prepare_replicated(batch_of("a")[:-1], 0) == []


def test_a_batch_of_a_later_epoch_than_its_leaders_is_refused() -> None:
    batch = batch_of("a")
    set_base_offset_and_epoch(batch, 0, 0, 5)
    assert len(prepare_replicated(bytes(batch), 0, 5)) == 1
    with pytest.raises(AppendRejected, match="leader epoch 5"):
        prepare_replicated(bytes(batch), 0, 4)


def test_a_batch_of_an_earlier_epoch_than_the_records_before_it_is_refused() -> None:
    batch = batch_of("a")
    set_base_offset_and_epoch(batch, 0, 0, 5)
    assert len(prepare_replicated(bytes(batch), 0, leader_epoch_min=5)) == 1
    with pytest.raises(AppendRejected, match="an earlier one in epoch 6"):
        prepare_replicated(bytes(batch), 0, leader_epoch_min=6)
