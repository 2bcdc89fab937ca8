"""The YAML form: files that are read, and those that are refused."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.spark.decode.settings import EnvelopeDecoder, JsonDecoder, RawDecoder
from penstock.spark.pipeline.core.model import (
    Expectation,
    Otherwise,
    Pipeline,
    SqlStep,
    TopicSource,
    WindowStep,
)
from penstock.spark.pipeline.core.problems import PipelineError, Problem
from penstock.spark.pipeline.yaml.file import read_yaml
from tests.spark.pipeline.yaml.broken_files import BROKEN, ORDERS, OUTPUT, TOP, source

FILES = Path(__file__).parent.parent / "files"


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[message for _text, message in BROKEN])
def test_a_broken_file_is_refused_with_the_line_and_the_remedy(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        read_yaml(text, "broken.yaml", {})
    marked = [number for number, line in enumerate(text.split("\n"), start=1) if "#!" in line]
    (problem,) = caught.value.problems
    assert message in problem.message
    if marked:
        assert str(caught.value).startswith(f"broken.yaml:{marked[0]}: ")


def test_all_problems_of_a_file_are_reported_at_once_in_the_order_of_its_lines() -> None:
    text = (
        "pipeline: p\n"
        "triger: 1 s\n"
        "sources:\n"
        "  orders: {topic: orders, decode: jsn}\n"
        "  other: {topic: a, max_offsets_per_trigger: x}\n"
        "steps:\n"
        "  - {name: a, from: orders, filter: x > 0, expect: [{rule: y, otherwise: cry}]}\n"
        "  - {name: b, sql: SELECT * FROM nowhere}\n"
        "outputs:\n"
        "  out: {from: c, topic: a b}\n"
    )
    with pytest.raises(PipelineError) as caught:
        read_yaml(text, "f.yaml", {})
    assert [problem.line for problem in caught.value.problems] == [2, 4, 5, 7, 8, 10, 10]


def test_what_reads_a_broken_part_is_not_blamed_for_it() -> None:
    text = f"{TOP}sources: {{orders: {{topics: {{}}}}}}\nsteps: [{{name: s, sql: SELECT 1 FROM orders}}]\n{OUTPUT}"
    with pytest.raises(PipelineError) as caught:
        read_yaml(text, "f.yaml", {})
    assert [problem.message for problem in caught.value.problems] == [
        "source orders: `topics` must be a list, not a mapping"
    ]


def test_one_of_everything_is_read() -> None:
    pipeline = _every_kind()
    assert [type(each.operation).__name__ for each in pipeline.steps] == [
        "SqlStep",
        "FilterStep",
        "PythonStep",
        "DedupeStep",
        "WindowStep",
        "WindowStep",
        "JoinStep",
        "StateStep",
    ]
    orders = pipeline.sources[0]
    assert isinstance(orders, TopicSource)
    assert orders.max_offsets_per_trigger == 10_000
    assert orders.starting == "2024-05-01T00:00:00Z"
    assert isinstance(orders.decoder, JsonDecoder)
    assert orders.expectations == (
        Expectation(line=21, name="positive amount", rule="amount > 0", otherwise=Otherwise.DROP),
        Expectation(line=22, name="customer IS NOT NULL", rule="customer IS NOT NULL"),
    )
    events = pipeline.sources[2]
    assert isinstance(events, TopicSource)
    assert events.pattern == r"events\..*"
    assert isinstance(events.decoder, EnvelopeDecoder)
    assert events.options == {"failOnDataLoss": "false"}
    window = pipeline.steps[4].operation
    assert isinstance(window, WindowStep)
    assert (window.on, window.size_ms, window.slide_ms) == ("at", 60_000, 30_000)
    assert pipeline.trigger_ms == 2_000
    assert pipeline.outputs[1].trigger_ms == 10_000
    assert pipeline.directory == str(FILES)


def test_lines_are_where_a_person_would_look() -> None:
    pipeline = _every_kind()
    shipped = pipeline.steps[0]
    lines = (FILES / "every_kind.yaml").read_text().split("\n")
    assert lines[shipped.line - 1] == "  - name: shipped"
    assert isinstance(shipped.operation, SqlStep)
    assert lines[shipped.operation.line - 1].strip() == shipped.operation.query.split("\n")[0]
    assert lines[pipeline.outputs[0].line - 1] == "  shipments:"
    assert lines[pipeline.outputs[0].target.line - 1] == "    topic: shipments"


def test_steps_come_after_what_they_read_and_names_in_sql_are_those_that_were_declared() -> None:
    text = (
        f"{TOP}{ORDERS}steps:\n"
        "  - {name: last, sql: SELECT * FROM FIRST JOIN Orders USING (id)}\n"
        "  - {name: first, from: orders, filter: amount > 0}\n"
        "outputs: {out: {from: last, console: true}}\n"
    )
    pipeline = read_yaml(text, "f.yaml", {})
    assert [(each.name, each.inputs) for each in pipeline.steps] == [
        ("first", ("orders",)),
        ("last", ("first", "orders")),
    ]


def test_variables_are_filled_in_before_values_are_read() -> None:
    text = source("topic: ${TOPIC:-orders}", "max_offsets_per_trigger: ${LIMIT}").replace(
        "pipeline: p", "pipeline: p\ncheckpoints: ./$${kept}"
    )
    pipeline = read_yaml(text, "f.yaml", {"LIMIT": "7"})
    (orders,) = pipeline.sources
    assert isinstance(orders, TopicSource)
    assert (orders.topics, orders.max_offsets_per_trigger) == (("orders",), 7)
    assert pipeline.checkpoints == "./${kept}"


def test_anchors_and_merges_share_settings_between_parts() -> None:
    text = (
        f"{TOP}x-common: &common {{decode: {{raw: {{text: true}}}}, starting: latest}}\n"
        "sources:\n"
        "  a: {<<: *common, topic: a}\n"
        "  b: {topic: b, <<: *common, starting: earliest}\n"
        "outputs: {out: {from: a, console: }}\n"
    )
    a, b = read_yaml(text, "f.yaml", {}).sources
    assert isinstance(a, TopicSource)
    assert isinstance(b, TopicSource)
    assert isinstance(a.decoder, RawDecoder)
    assert (a.decoder.text, a.starting, b.starting) == (True, "latest", "earliest")


def _every_kind() -> Pipeline:
    path = FILES / "every_kind.yaml"
    return read_yaml(path.read_text(), str(path), {})


LINES = (FILES / "every_kind.yaml").read_text().split("\n")
VALUES = st.sampled_from(
    ["", "null", "[]", "{}", "x", "-1", "{a: b}", "[a, [b]]", "${X}", "*a", "'", "{{", "? :"]
)


@given(
    st.lists(
        st.tuples(st.integers(0, len(LINES) - 1), st.sampled_from("cdr"), VALUES), min_size=1, max_size=4
    )
)
@settings(max_examples=100, deadline=None)
def test_a_damaged_file_is_a_pipeline_or_a_list_of_problems_and_nothing_else(
    damages: list[tuple[int, str, str]],
) -> None:
    lines = list(LINES)
    for place, kind, value in damages:
        key, colon, _rest = lines[place].partition(": ")
        lines[place] = {"c": f"{key}{colon}{value}", "d": "", "r": f"{lines[place]}\n{lines[place]}"}[kind]
    found: tuple[Problem, ...] | None = None
    try:
        read_yaml("\n".join(lines), "f.yaml", {})
    except PipelineError as error:
        found = error.problems
    assert found != ()


@pytest.mark.parametrize(
    "text", ["[" * 5000, "a: &a\n  <<: *a\n", "sources: &a\n  b: *a\n", "\x00", "!!python/name:x y"]
)
def test_hostile_yaml_is_refused(text: str) -> None:
    with pytest.raises(PipelineError):
        read_yaml(text, "f.yaml", {})
