from pathlib import Path

from tests.storage.logs import (
    append,
    checkpoint,
    new_log,
    reopened,
    sync,
)


def test_producers_are_restored_from_a_snapshot_and_the_batches_after_it(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    fields = {"producer_id": 5, "producer_epoch": 0}
    append(log, "a", base_sequence=0, **fields)
    checkpoint(log)
    append(log, "b", base_sequence=1, **fields)
    sync(log)
    again = reopened(log)
    assert append(again, "b", base_sequence=1, **fields).duplicate
    assert append(again, "a", base_sequence=0, **fields).duplicate
    assert append(again, "c", base_sequence=2, **fields).base_offset == 2


def test_producers_are_replayed_from_the_log_when_the_snapshot_is_damaged(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    append(log, "a", producer_id=5, producer_epoch=0, base_sequence=0)
    checkpoint(log)
    snapshot = tmp_path / "00000000000000000001.snapshot"
    content = bytearray(snapshot.read_bytes())
    content[12] = 0xFF
    snapshot.write_bytes(content)
    assert append(reopened(log), "a", producer_id=5, producer_epoch=0, base_sequence=0).duplicate
