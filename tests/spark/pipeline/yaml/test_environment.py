from pathlib import Path

import pytest

from penstock.spark.pipeline.core.problems import error
from penstock.spark.pipeline.core.secrets import redact
from penstock.spark.pipeline.yaml.environment import substitute

VARIABLES = {"HOST": "broker", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${HOST}:9092", "broker:9092"),
        ("${PORT:-9092}", "9092"),
        ("${HOST:-x}", "broker"),
        ("${EMPTY:-x}", "x"),
        ("${EMPTY}", ""),
        ("${PORT:-}", ""),
        ("$${HOST} costs 5$", "${HOST} costs 5$"),
        ("${HOST}${HOST}", "brokerbroker"),
    ],
)
def test_variables_are_filled_in(text: str, filled: str) -> None:
    assert substitute(text, VARIABLES) == (filled, [])


def test_unset_variables_and_wrong_names_are_reported() -> None:
    _text, wrong = substitute("${NOWHERE} ${} ${a b}", VARIABLES)
    assert len(wrong) == 3
    assert "NOWHERE is not set: set it, or give a default with ${NOWHERE:-…}" in wrong[0]


def test_a_secret_comes_from_a_file_beside_the_pipeline_and_is_never_printed(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret-of-the-file\n")
    assert substitute("user:${file:password}", {}, str(tmp_path)) == ("user:s3cret-of-the-file", [])
    assert redact("denied for user:s3cret-of-the-file") == "denied for user:***"
    problem = error(3, "`s3cret-of-the-file` is not a topic name")
    assert problem.text("a.yaml") == "a.yaml:3: `***` is not a topic name"


def test_a_secret_that_cannot_be_read_is_reported_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    _text, wrong = substitute("${file:nowhere} ${file:empty} ${file:binary}", {}, str(tmp_path))
    missing = f"cannot read the file {tmp_path}/nowhere for ${{file:nowhere}}: No such file or directory. "
    assert wrong == [
        missing + "Create it, or correct the path",
        f"the file {tmp_path}/empty for ${{file:empty}} is empty",
        f"the file {tmp_path}/binary for ${{file:binary}} is not UTF-8 text",
    ]
