import pytest

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
