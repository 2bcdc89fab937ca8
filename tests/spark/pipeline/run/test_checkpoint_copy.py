"""A checkpoint in a store, with a copy on each of two machines. No Spark: the files are as Spark writes them."""

from pathlib import Path

import pytest

from penstock.spark.lake.disk import Disk
from penstock.spark.pipeline.run import checkpoint_copy
from penstock.spark.pipeline.run.checkpoint_copy import CheckpointCopy, CheckpointTaken


class Machine:
    """A run of a pipeline; `run` is its process."""

    def __init__(self, tmp_path: Path, name: str, run: str = "") -> None:
        self.directory = tmp_path / name
        self.store = tmp_path / "store"
        self.copy = CheckpointCopy(Disk(str(self.store)), str(self.directory), run or name, "s3://b/query")

    def write(self, path: str, content: str) -> None:
        (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
        (self.directory / path).write_text(content)

    def plan(self, batch_id: int, offsets: str = "planned") -> None:
        self.write(f"offsets/{batch_id}", offsets)
        self.copy.before_batch(batch_id)

    def finish(self, batch_id: int) -> None:
        self.write(f"state/0/0/{batch_id + 1}.delta", f"state after {batch_id}")
        self.write(f"commits/{batch_id}", "done")

    def files(self, place: Path | None = None) -> list[str]:
        root = place or self.directory
        return sorted(
            str(path.relative_to(root))
            for path in root.rglob("*")
            if path.is_file() and path.name[0] not in "._"
        )


@pytest.fixture
def first(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path, "first")
    machine.copy.open()
    machine.write("metadata", "the query")
    return machine


def test_the_offsets_of_a_batch_are_stored_after_all_that_it_builds_on(first: Machine) -> None:
    first.plan(0)
    first.finish(0)
    first.write("offsets/.1.tmp", "half")
    assert first.files(first.store) == ["metadata", "offsets/0"]
    first.plan(1)
    assert first.files(first.store) == [
        "commits/0",
        "metadata",
        "offsets/0",
        "offsets/1",
        "state/0/0/1.delta",
    ]


def test_another_machine_goes_on_where_the_first_one_died(first: Machine, tmp_path: Path) -> None:
    first.plan(0)
    first.finish(0)
    first.plan(1, "as the first machine has planned it")
    second = Machine(tmp_path, "second")
    second.copy.open()
    assert second.files() == ["commits/0", "metadata", "offsets/0", "offsets/1", "state/0/0/1.delta"]
    assert (second.directory / "offsets/1").read_text() == "as the first machine has planned it"
    second.copy.before_batch(1)


def test_a_machine_that_was_thought_dead_stops_before_its_next_batch(first: Machine, tmp_path: Path) -> None:
    first.plan(0)
    second = Machine(tmp_path, "second")
    second.copy.open()
    first.finish(0)
    with pytest.raises(CheckpointTaken, match=r"s3://b/query was taken over by a run on .* \(process \d+\)"):
        first.plan(1)
    with pytest.raises(CheckpointTaken):
        first.copy.open()  # it does not take it back
    assert second.files(first.store) == ["metadata", "offsets/0"]


def test_of_two_runs_that_plan_a_batch_one_stores_it(
    first: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run is past its check of the owner when the second one starts."""
    first.plan(0)
    second = Machine(tmp_path, "second")
    second.copy.open()
    monkeypatch.setattr(first.copy, "_check_owner", lambda: None)
    first.finish(0)
    first.plan(1, "of the first")
    second.finish(0)
    with pytest.raises(CheckpointTaken, match="has stored batch 1 of s3://b/query meanwhile"):
        second.plan(1, "of the second")
    second.copy.open()  # the query is restarted
    assert (second.directory / "offsets/1").read_text() == "of the first"
    second.copy.before_batch(1)


def test_a_restart_on_the_same_machine_downloads_nothing_and_loses_nothing(
    first: Machine, tmp_path: Path
) -> None:
    first.plan(0)
    first.finish(0)
    first.write("offsets/1", "planned, not begun")
    (first.store / "metadata").write_text("not read")
    again = Machine(tmp_path, "first", run="another process")
    again.copy.open()
    assert (again.directory / "metadata").read_text() == "the query"
    again.copy.before_batch(1)
    assert "commits/0" in again.files(again.store)


def test_the_copy_of_a_machine_on_which_the_last_run_was_not_is_replaced(
    first: Machine, tmp_path: Path
) -> None:
    first.plan(0)
    second = Machine(tmp_path, "second")
    second.copy.open()
    second.finish(0)
    second.plan(1)
    first.finish(0)
    first.write("offsets/1", "another")
    back = Machine(tmp_path, "first", run="another process")
    back.copy.open()
    assert (back.directory / "offsets/1").read_text() == "planned"


def test_a_copy_from_before_a_crash_of_the_machine_is_not_trusted(
    first: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first.plan(0)
    first.write("metadata", "torn by a power cut")
    monkeypatch.setattr(checkpoint_copy, "_boot_id", lambda: "after the crash")
    again = Machine(tmp_path, "first", run="another process")
    again.copy.open()
    assert (again.directory / "metadata").read_text() == "the query"


def test_a_clean_stop_stores_the_end_of_the_last_batch(first: Machine, tmp_path: Path) -> None:
    first.plan(0)
    first.finish(0)
    first.write("offsets/1", "planned, not begun")
    first.copy.close()
    assert first.files(first.store) == ["commits/0", "metadata", "offsets/0", "state/0/0/1.delta"]


def test_a_file_that_was_replaced_is_stored_again_and_a_removed_one_is_removed(first: Machine) -> None:
    first.plan(0)
    first.finish(0)
    first.plan(1)
    first.write("state/0/0/1.delta", "written again by another attempt")
    (first.directory / "offsets/0").unlink()
    first.finish(1)
    first.plan(2)
    assert (first.store / "state/0/0/1.delta").read_text() == "written again by another attempt"
    assert not (first.store / "offsets/0").exists()


# -- outputs that share their reads


class SharingMachine(Machine):
    def __init__(self, tmp_path: Path, name: str) -> None:
        super().__init__(tmp_path, name)
        self.copy = CheckpointCopy(
            Disk(str(self.store)), str(self.directory), name, "s3://b/group", shared="query"
        )
        self.copy.open()

    def plan(self, batch_id: int, offsets: str = "planned") -> None:
        self.write(f"query/offsets/{batch_id}", offsets)
        self.copy.before_batch(batch_id)

    def decide(self, position: str) -> None:
        self.copy.write("outputs/table.json", position.encode())

    @property
    def position(self) -> str:
        return (self.copy.read("outputs/table.json") or b"").decode()


def without_owners(*machines: Machine, patch: pytest.MonkeyPatch) -> None:
    """Each is past its check of the owner when the other one writes."""
    for machine in machines:
        patch.setattr(machine.copy, "_check_owner", lambda: None)


def test_a_decision_of_an_output_is_known_to_another_machine(tmp_path: Path) -> None:
    first = SharingMachine(tmp_path, "first")
    first.decide("in step")
    first.decide("behind")
    assert first.files(first.store)[-1] == "outputs/table.json"
    (first.store / "outputs/table.json").write_text("of a run that was late")
    second = SharingMachine(tmp_path, "second")
    assert second.position == "behind"
    assert second.copy.names("outputs") == ["table.json"]


def test_of_two_runs_that_decide_one_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = SharingMachine(tmp_path, "first")
    first.decide("behind")
    second = SharingMachine(tmp_path, "second")
    without_owners(first, second, patch=monkeypatch)
    first.decide("a batch of its own, up to 10")
    with pytest.raises(CheckpointTaken, match="has decided about its outputs of s3://b/group meanwhile"):
        second.decide("a batch of its own, up to 20")
    assert second.position == "behind"  # nothing is written by what was not stored
    second.copy.open()
    assert second.position == "a batch of its own, up to 10"
    second.decide("written")


def test_a_run_that_missed_a_decision_does_not_begin_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both runs would store the same offsets, but write the batch to other outputs."""
    first = SharingMachine(tmp_path, "first")
    first.plan(0)
    second = SharingMachine(tmp_path, "second")
    without_owners(first, second, patch=monkeypatch)
    first.decide("the table refused batch 0")
    with pytest.raises(CheckpointTaken):
        second.plan(1)
    second.copy.open()
    assert second.position == "the table refused batch 0"
    second.plan(1)
    with pytest.raises(CheckpointTaken):
        first.decide("written")


def test_old_entries_are_removed(tmp_path: Path) -> None:
    machine = SharingMachine(tmp_path, "first")
    for at in range(200):
        machine.decide(str(at))
    assert len(list((machine.store / "_log").iterdir())) == 100
    assert SharingMachine(tmp_path, "second").position == "199"
