"""Warnings about streams that need only the file. The errors are in yaml/test_file.py."""

import pytest

from penstock.spark.pipeline.rules.streams import stream_problems
from penstock.spark.pipeline.yaml.file import read_yaml

BARE = "{topic: a, decode: {json: 'id STRING, at TIMESTAMP'}}"
MARKED = "{topic: a, decode: {json: 'id STRING, at TIMESTAMP'}, watermark: {column: at, delay: 1 m}}"
WINDOW = "window: {on: at, size: 1 m, aggregates: {n: count(*)}}"


def warnings(*steps: str, source: str = BARE, output: str = "{from: s, console: true}") -> list[str]:
    lines = "".join(f"  - {{{each}}}\n" for each in steps)
    text = f"pipeline: p\nsources:\n  a: {source}\n  b: {source}\nsteps:\n{lines}outputs:\n  out: {output}\n"
    found = stream_problems(read_yaml(text, "f.yaml", {}))
    assert all(problem.is_warning and problem.line for problem in found)
    return [problem.message for problem in found]


def test_a_window_in_update_mode_may_do_without_a_watermark_but_its_state_grows() -> None:
    (reported,) = warnings(f"name: s, from: a, {WINDOW}", output="{from: s, console: true, mode: update}")
    assert reported.startswith("step s: without a watermark its state grows without bound: write `watermark:")


def test_keys_that_are_never_forgotten_are_worth_a_warning() -> None:
    (reported,) = warnings("name: s, from: a, dedupe: id")
    assert reported.startswith("step s: every key is kept forever")


def test_a_watermark_shorter_than_the_time_of_the_dedupe_is_worth_a_warning() -> None:
    (reported,) = warnings("name: s, from: a, dedupe: {by: id, within: 1 hour}", source=MARKED)
    assert "duplicates are found for 1 minute only, the delay of the watermark, not for 1 hour" in reported


def test_an_inner_join_of_streams_that_never_forgets_is_worth_a_warning() -> None:
    (reported,) = warnings("name: s, from: [a, b], join: {on: a.id = b.id, select: a.id}")
    assert reported.startswith(
        "step s: joins two streams, and a and b have no watermarks, so rows are kept forever"
    )


def test_results_that_come_in_again_are_worth_a_warning() -> None:
    (reported,) = warnings("name: s, from: a, filter: 'true'", output="{from: s, topic: a}")
    assert (
        reported == "output out: writes to topic a, which its own source a reads: its results come in again"
    )


@pytest.mark.parametrize(
    "steps",
    [
        (f"name: s, from: a, watermark: {{column: at, delay: 1 m}}, {WINDOW}",),
        ("name: f, from: a, filter: 'true'", f"name: s, from: f, {WINDOW}"),
        ("name: f, sql: SELECT at FROM a", f"name: s, from: f, {WINDOW}"),
        ("name: f, from: a, python: 'f.py:f'", f"name: s, from: f, {WINDOW}"),
        ("name: s, from: a, dedupe: {by: id, within: 1 m}",),
        ("name: s, from: a, watermark: {column: at, delay: 1 s}, dedupe: {by: id, within: 1 h}",),
        ("name: s, from: [a, b], join: {on: a.id = b.id, how: left}",),
    ],
)
def test_with_a_watermark_there_is_nothing_to_say(steps: tuple[str, ...]) -> None:
    assert warnings(*steps, source=MARKED) == []


def test_what_a_python_step_does_to_watermarks_is_left_to_spark() -> None:
    assert warnings("name: f, from: a, python: 'f.py:f'", f"name: s, from: f, {WINDOW}") == []
