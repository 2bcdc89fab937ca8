import pytest

from penstock.cli.main import run


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        (["topic", "truncate", "--help"], "truncate", "delete-records"),
        (["pipeline", "backfill", "--again", "--help"], "--again", "--force"),
        (["dlq", "replay", "--again", "--help"], "--again", "--include-replayed"),
        (["bench", "--minutes-max=3", "--list"], "--minutes-max", "--max-minutes"),
    ],
)
def test_a_deprecated_name_still_works_and_prints_a_note(
    command: list[str], old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command) == 0
    assert f"{old} is deprecated, use {new}" in capsys.readouterr().err


def test_a_topic_may_have_the_name_of_a_deprecated_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topic", "delete", "truncate", "--help"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "command",
    [
        ["bench", "--only", "D", "--against", "--minutes-max"],
        ["pipeline", "backfill", "--from", "2026-01-01", "--to", "2026-01-02", "--", "--again"],
    ],
)
def test_a_value_or_an_argument_that_is_spelled_like_a_deprecated_option_is_kept(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command) != 0
    printed = "".join(capsys.readouterr())
    assert f"{command[-1]}: i" in printed
    assert "deprecated" not in printed
