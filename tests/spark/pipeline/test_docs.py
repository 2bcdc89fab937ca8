"""The examples of docs/pipelines.md are read as they stand there."""

import re
from pathlib import Path

import pytest

from penstock.spark.pipeline.load import load

DOCS = Path(__file__).parents[3] / "docs" / "pipelines.md"
EXAMPLES = re.findall(
    r"^```(yaml|python)\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


def test_there_are_examples_of_both_forms() -> None:
    assert {form for form, _text in EXAMPLES} == {"yaml", "python"}


@pytest.mark.parametrize(("form", "text"), EXAMPLES)
def test_an_example_of_the_documentation_is_a_pipeline(tmp_path: Path, form: str, text: str) -> None:
    path = tmp_path / {"yaml": "example.yaml", "python": "example.py"}[form]
    path.write_text(text, encoding="utf-8")
    assert load(str(path), {}).outputs
