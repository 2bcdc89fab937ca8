"""What is stored of a group, over the starts of its query with other outputs."""

import json

from penstock.spark.pipeline.core.queries import PlannedQuery
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.run.checkpoints import CheckpointFiles
from penstock.spark.pipeline.run.group_state import GroupState

GROUP = "_source.orders"


class FilesInMemory(CheckpointFiles):
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def read(self, path: str) -> str | None:
        return self.texts.get(path)

    def write(self, path: str, text: str) -> None:
        self.texts[path] = text

    def names(self, path: str) -> list[str]:
        return [each.removeprefix(f"{path}/") for each in self.texts if each.startswith(f"{path}/")]

    def plan(self, batch_id: int, end: int) -> None:
        self.texts[f"{GROUP}/offsets/{batch_id}"] = f"v1\n{{}}\n{json.dumps({'orders': {'0': end}})}"

    def finish(self, batch_id: int) -> None:
        self.texts[f"{GROUP}/commits/{batch_id}"] = "v1"


def at(offset: int) -> Offsets:
    return {"orders": {0: offset}}


def start(files: FilesInMemory, *outputs: str, starts: dict[str, int] | None = None) -> GroupState:
    members = [PlannedQuery(key=name, name=name, reads=(), input="orders") for name in outputs]
    return GroupState(files, GROUP, members, lambda key: at((starts or {}).get(key, 0)))


def test_an_output_that_was_out_of_the_file_for_a_run_continues_where_it_was() -> None:
    files = FilesInMemory()
    start(files, "kept", "removed")
    files.plan(0, 10)
    files.finish(0)
    start(files, "kept")
    files.plan(1, 30)
    files.finish(1)

    position = start(files, "kept", "removed").positions["removed"]
    assert position.reached == at(10)


def test_an_output_that_may_have_an_unfinished_batch_writes_it_again_under_the_same_identity() -> None:
    files = FilesInMemory()
    identity = start(files, "kept", "removed").positions["removed"].identity
    files.plan(0, 10)
    files.finish(0)
    files.plan(1, 20)
    start(files, "kept")
    files.finish(1)

    pending = start(files, "kept", "removed").positions["removed"].pending
    assert pending is not None
    assert (pending.query_id, pending.batch_id) == (identity, 1)
    assert (pending.start, pending.end) == (at(10), at(20))


def test_an_output_that_was_reset_starts_where_the_reset_says() -> None:
    files = FilesInMemory()
    start(files, "kept", "reset")
    files.plan(0, 10)
    files.finish(0)
    del files.texts[f"{GROUP}/outputs/reset.json"]

    state = start(files, "kept", "reset", starts={"reset": 4})
    assert state.positions["reset"].reached == at(4)
    assert not state.positions["kept"].is_behind
