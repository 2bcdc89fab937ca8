"""Where queries are, from the files that a run leaves."""

import json
import os
from pathlib import Path

from penstock.client.metadata import TopicPartition
from penstock.spark.pipeline.plan.checkpoints import (
    Checkpoint,
    has_finished_batch,
    keys_with_checkpoint,
    move_aside,
    read_checkpoint,
)
from penstock.spark.source.offsets import StreamOffsets

A0 = TopicPartition("a", 0)


def write_query(root: Path, key: str, *batches: str, commits: int = 0) -> None:
    for name in ("offsets", "commits"):
        (root / key / name).mkdir(parents=True)
    (root / key / "metadata").write_text('{"id": "x"}')
    for number, batch in enumerate(batches):
        (root / key / "offsets" / str(number)).write_text(f"v1\n{{}}\n{batch}")
    for number in range(commits):
        (root / key / "commits" / str(number)).write_text("v1\n{}")


def test_a_query_continues_after_the_last_batch_that_it_planned(tmp_path: Path) -> None:
    write_query(tmp_path, "table", '{"a": {"0": 5}}', '{"a": {"0": 9}, "topic ids": {"a": "x"}}\n-')
    assert read_checkpoint(str(tmp_path), "table") == Checkpoint(
        sources=(StreamOffsets(offsets={A0: 9}, topic_ids={"a": "x"}), StreamOffsets(offsets={}))
    )
    assert read_checkpoint(str(tmp_path), "other") is None
    assert not has_finished_batch(str(tmp_path), "table")
    write_query(tmp_path, "new")
    assert read_checkpoint(str(tmp_path), "new") == Checkpoint()


def test_outputs_that_share_reads_are_where_their_group_is_unless_they_are_behind(tmp_path: Path) -> None:
    write_query(tmp_path, "_source.orders/query", '{"a": {"0": 9}}', commits=1)
    outputs = tmp_path / "_source.orders" / "outputs"
    outputs.mkdir()
    (outputs / "ahead.json").write_text(json.dumps({"identity": "x", "pending": None, "reached": None}))
    (outputs / "behind.json").write_text(json.dumps({"reached": {"a": {"0": 4}}}))
    (outputs / "stuck.json").write_text(json.dumps({"pending": {"start": {"a": {"0": 2}}, "end": {}}}))
    assert keys_with_checkpoint(str(tmp_path)) == ["ahead", "behind", "stuck"]
    assert has_finished_batch(str(tmp_path), "ahead")

    def place(key: str) -> int:
        found = read_checkpoint(str(tmp_path), key)
        assert found is not None
        return found.sources[0].offsets[A0]

    assert [place(key) for key in ("ahead", "behind", "stuck")] == [9, 4, 2]
    aside = move_aside(str(tmp_path), "behind")
    assert aside is not None
    assert os.listdir(aside) == ["behind.json"]
    assert keys_with_checkpoint(str(tmp_path)) == ["ahead", "stuck"]


def test_a_query_without_a_checkpoint_has_nothing_to_move(tmp_path: Path) -> None:
    assert move_aside(str(tmp_path), "table") is None
