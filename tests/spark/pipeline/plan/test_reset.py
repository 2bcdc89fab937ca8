"""Where an output starts after a reset."""

import json
import os
from pathlib import Path

import pytest

from penstock.client.metadata import TopicPartition
from penstock.spark.pipeline.core.model import Output, Pipeline, TopicSource
from penstock.spark.pipeline.core.queries import plan_queries
from penstock.spark.pipeline.outputs import TableTarget
from penstock.spark.pipeline.plan.reset import (
    pending_resets,
    query_to_reset,
    reset_query,
    started_at,
    starting_points,
)
from tests.spark.source.cluster_model import ClusterModel

CLUSTER = ClusterModel({TopicPartition("a", 0): (5, 10), TopicPartition("a", 1): (0, 20)})


def pipeline(directory: str = ".") -> Pipeline:
    return Pipeline(
        name="shop",
        directory=directory,
        sources=(TopicSource(name="orders", topics=("a",)),),
        outputs=(Output(name="table", input="orders", target=TableTarget(path="t")),),
    )


def points(to: str) -> list[tuple[int, int]]:
    query = query_to_reset(pipeline(), "table")
    return [(each.offset, each.records) for each in starting_points(query, to, CLUSTER)]


def test_a_start_is_shown_with_the_records_that_will_be_read() -> None:
    assert points("earliest") == [(5, 5), (0, 20)]
    assert points("latest") == [(10, 0), (20, 0)]
    assert points('{"a": {"0": 7, "1": 20}}') == [(7, 3), (20, 0)]
    assert points("1970-01-01T00:00:00.080Z") == [(8, 2), (8, 12)]


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("yesterday", "--to cannot be `yesterday`"),
        ('{"a": {"0": 7}}', "a-1 is missing"),
        ('{"a": {"0": 7, "1": 21}}', "beyond the end: a-1 ends at offset 20"),
    ],
)
def test_a_place_that_does_not_exist_is_refused(to: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        points(to)


def test_an_unknown_output_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no output `tabel`: it has table"):
        query_to_reset(pipeline(), "tabel")


def test_a_reset_keeps_the_old_checkpoint_and_holds_until_a_batch_is_finished(tmp_path: Path) -> None:
    given = pipeline(str(tmp_path))
    root = tmp_path / ".penstock" / "shop"
    (root / "table").mkdir(parents=True)
    (root / "table" / "metadata").write_text('{"id": "x"}')
    (query,) = plan_queries(given)
    aside = reset_query(given, query, "latest")
    assert aside is not None
    assert os.path.exists(os.path.join(aside, "table", "metadata"))
    assert not (root / "table").exists()
    assert pending_resets(given, [query]) == {"table": "latest"}

    (root / "table" / "offsets").mkdir(parents=True)
    (root / "table" / "offsets" / "0").write_text("v1")
    assert pending_resets(given, [query]) == {"table": "latest"}  # its first batch asks for the start again
    (root / "table" / "commits").mkdir()
    (root / "table" / "commits" / "0").write_text("v1")
    assert pending_resets(given, [query]) == {}
    assert json.loads((root / "resets.json").read_text()) == {}


def test_offsets_go_to_the_sources_that_read_their_topics() -> None:
    both = Pipeline(
        name="shop",
        sources=(TopicSource(name="orders", topics=("a",)), TopicSource(name="payments", topics=("b",))),
        outputs=(),
    )
    sources = started_at(both, '{"a": {"0": 1}, "b": {"0": 2}}').sources
    assert [each.starting for each in sources if isinstance(each, TopicSource)] == [
        '{"a": {"0": 1}}',
        '{"b": {"0": 2}}',
    ]
