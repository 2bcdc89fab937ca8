import msgspec

from penstock_bench.catalogue import WORKLOADS
from penstock_bench.figures import Comparison, Figure, Goal, Ratio, Row, Section, Series
from penstock_bench.report import (
    Report,
    TargetState,
    comparison_rows,
    from_json,
    merged,
    summary_rows,
    to_json,
    to_markdown,
    verdict,
)


def series(label: str, *values: float) -> Series:
    return Series(label=label, unit="/s", values=values)


LONE = Section(
    key="b",
    title="A lone producer",
    method="One at a time.",
    ratios=(
        Ratio(
            label="raw / bare loop",
            measured=series("raw", 70.0, 80.0, 90.0),
            reference=series("bare loop", 100.0, 100.0, 100.0),
            goal=Goal(side="at least", bound=0.7),
        ),
    ),
    figures=(
        Figure(series=series("raw", 70.0, 80.0, 90.0)),
        Figure(series=series("start", 0.75), goal=Goal(side="at most", bound=0.5)),
    ),
    notes=("A note.",),
)
REPORT = Report(
    machine={"processor": "Some CPU | 2 cores"},
    scale="quick",
    sections=(LONE, Section(key="h", title="Recovery", method="Kill it.", failure="no room")),
)


def test_each_ratio_is_a_row_with_its_median_spread_and_verdict() -> None:
    assert summary_rows(REPORT.sections)[0:1] == [("b", "raw / bare loop", "0.8", "0.7 … 0.9", "≥ 0.7 met")]


def test_a_figure_is_a_row_of_the_summary_only_when_it_has_a_goal() -> None:
    assert summary_rows(REPORT.sections)[1:] == [
        ("b", "start", "0.75 /s", "one round", "≤ 0.5 missed by 50%")
    ]


def test_a_goal_is_undecided_when_rounds_disagree() -> None:
    goal = Goal(side="at least", bound=0.7)
    assert verdict(goal, series("x", 0.2, 1.7, 2.0)) == "≥ 0.7 undecided: the rounds disagree"
    assert verdict(goal, series("x", 0.8, 1.7, 2.0)) == "≥ 0.7 met"
    assert verdict(goal, series("x", 0.2, 0.3, 0.6)) == "≥ 0.7 missed by 57%"


def test_the_page_has_machine_ratios_figures_notes_and_failures() -> None:
    page = to_markdown(REPORT)
    assert "| processor | Some CPU \\| 2 cores |" in page
    assert "| b | raw / bare loop | 0.8 | 0.7 … 0.9 | ≥ 0.7 met |" in page
    assert "| raw | 80 /s | 70 … 90 |" in page
    assert "- A note." in page
    assert "## (h) Recovery" in page
    assert "**Not measured:** no room" in page
    assert page.endswith("no room\n")


def test_the_page_says_why_a_goal_is_missed_and_nothing_about_those_that_are_met() -> None:
    page = to_markdown(REPORT)
    assert f"- (b) {WORKLOADS['b'].missed_because}" in page  # its start time is too long
    assert WORKLOADS["c"].missed_because not in page


def test_the_json_holds_every_value_of_every_round() -> None:
    decoded = msgspec.json.decode(to_json(REPORT))
    assert decoded["machine"] == REPORT.machine
    ratio = decoded["sections"][0]["ratios"][0]
    assert ratio["measured"]["values"] == [70.0, 80.0, 90.0]
    assert ratio["values"] == [0.7, 0.8, 0.9]
    assert ratio["median"] == 0.8
    assert decoded["sections"][1]["failure"] == "no room"


COMPARED = Comparison(
    what="100 B",
    unit="/s",
    is_more_better=True,
    rows=tuple(
        Row(target=name, durability="synced before ack", series=series(name, *values))
        for name, values in (("Penstock", (90.0, 100.0)), ("Redis Streams", (190.0, 190.0)))
    ),
)
BESIDE = Report(
    machine={"processor": "Some CPU"},
    scale="full",
    sections=(Section(key="n", title="Batched", method="Fast.", comparisons=(COMPARED,)),),
    targets=(
        TargetState(
            name="RabbitMQ", server="RabbitMQ", durability="synced before ack", state="**missing:** no Erlang"
        ),
    ),
)


def test_a_comparison_has_a_row_for_each_target_with_the_best_first_and_the_ratio_to_penstock() -> None:
    assert comparison_rows(COMPARED) == [
        ("Redis Streams", "synced before ack", "190 /s", "190 … 190", "2"),
        ("Penstock", "synced before ack", "95 /s", "90 … 100", "1"),
    ]


def test_the_page_names_the_targets_that_are_missing_and_shows_the_pictures() -> None:
    page = to_markdown(BESIDE, {"n": ["benchmarks/n.png"]})
    assert "| RabbitMQ | RabbitMQ | synced before ack | **missing:** no Erlang |" in page
    assert "![Batched](benchmarks/n.png)" in page
    assert "| Redis Streams | synced before ack | 190 /s | 190 … 190 | 2 |" in page


def test_a_report_survives_a_round_trip_through_json() -> None:
    assert from_json(to_json(BESIDE)) == BESIDE
    assert from_json(to_json(REPORT)) == REPORT


def test_sections_of_earlier_runs_fill_the_gaps_of_a_page_and_have_their_date() -> None:
    page = merged(BESIDE, [REPORT])
    assert [section.key for section in page.sections] == ["b", "n"]  # (h) had failed
    assert "earlier run" in page.sections[0].notes[-1]
    assert page.machine == BESIDE.machine
    assert page.targets == BESIDE.targets
    assert merged(REPORT, [BESIDE]).targets == BESIDE.targets
