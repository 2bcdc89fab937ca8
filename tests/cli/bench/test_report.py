import msgspec

from penstock.cli.bench.figures import Figure, Goal, Ratio, Section, Series
from penstock.cli.bench.report import Report, figure_rows, ratio_rows, to_json, to_markdown, verdict


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
    assert ratio_rows(REPORT.sections) == [("b", "raw / bare loop", "0.8", "0.7 … 0.9", "≥ 0.7 met")]


def test_a_figure_is_a_row_of_the_summary_only_when_it_has_a_goal() -> None:
    assert figure_rows(REPORT.sections) == [("b", "start", "0.75 /s", "one round", "≤ 0.5 missed by 50%")]


def test_rounds_on_both_sides_of_a_goal_decide_nothing_whatever_their_median() -> None:
    goal = Goal(side="at least", bound=0.7)
    assert verdict(goal, series("x", 0.2, 1.7, 2.0)) == "≥ 0.7 undecided: the rounds disagree"
    assert verdict(goal, series("x", 0.8, 1.7, 2.0)) == "≥ 0.7 met"
    assert verdict(goal, series("x", 0.2, 0.3, 0.6)) == "≥ 0.7 missed by 57%"


def test_the_page_holds_machine_ratios_figures_notes_and_what_was_not_measured() -> None:
    page = to_markdown(REPORT)
    assert "| processor | Some CPU \\| 2 cores |" in page
    assert "| b | raw / bare loop | 0.8 | 0.7 … 0.9 | ≥ 0.7 met |" in page
    assert "| raw | 80 /s | 70 … 90 |" in page
    assert "- A note." in page
    assert "## (h) Recovery" in page
    assert "**Not measured:** no room" in page
    assert page.endswith("no room\n")


def test_the_json_holds_every_value_of_every_round() -> None:
    told = msgspec.json.decode(to_json(REPORT))
    assert told["machine"] == REPORT.machine
    ratio = told["sections"][0]["ratios"][0]
    assert ratio["measured"]["values"] == [70.0, 80.0, 90.0]
    assert ratio["values"] == [0.7, 0.8, 0.9]
    assert ratio["median"] == 0.8
    assert told["sections"][1]["failure"] == "no room"
