"""Commits of batches are blocked in the directories of checkpoints."""

from pathlib import Path

from penstock.spark.testing.cases.kills import CommitBlocks


def checkpoint(root: Path, query: str, *, planned: int, committed: int) -> Path:
    for log, count in (("offsets", planned), ("commits", committed)):
        (root / query / log).mkdir(parents=True, exist_ok=True)
        for batch in range(count):
            (root / query / log / str(batch)).touch()
    return root / query


def test_the_next_commit_of_each_query_is_blocked_until_its_batch_was_planned(tmp_path: Path) -> None:
    killed = checkpoint(tmp_path, "killed", planned=2, committed=2)
    idle = checkpoint(tmp_path, "idle", planned=1, committed=1)
    (tmp_path / "run.lock").touch()
    blocks = CommitBlocks(str(tmp_path))
    assert (killed / "commits" / "2").is_dir()
    assert blocks.unblock_killed() == 0
    (killed / "offsets" / "2").touch()
    assert blocks.unblock_killed() == 1
    assert not (killed / "commits" / "2").exists()
    assert (idle / "commits" / "1").is_dir()
    blocks.unblock_all()
    assert sorted(each.name for each in (idle / "commits").iterdir()) == ["0"]


def test_a_query_that_starts_later_is_blocked_as_soon_as_it_has_a_checkpoint(tmp_path: Path) -> None:
    blocks = CommitBlocks(str(tmp_path / "none"))
    with blocks.blocking_new():
        new = checkpoint(tmp_path / "none", "new", planned=0, committed=0)
        while not (new / "commits" / "0").is_dir():
            pass
    blocks.unblock_all()
    assert list((new / "commits").iterdir()) == []
