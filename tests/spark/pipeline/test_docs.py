"""The examples of docs/pipelines.md are read as they stand there."""

import re
from pathlib import Path

import pytest

from penstock.spark.decode.settings import DECODERS
from penstock.spark.encode.settings import ENCODERS
from penstock.spark.lake.formats import TABLE_FORMATS
from penstock.spark.pipeline.core.model import OPERATIONS
from penstock.spark.pipeline.load import load
from penstock.spark.pipeline.outputs import TARGETS

DOCS = Path(__file__).parents[3] / "docs" / "pipelines.md"
CHANGE_DATA, TABLES = DOCS.with_name("change-data.md"), DOCS.with_name("tables.md")


def examples_in(page: Path, forms: str) -> list[tuple[str, str]]:
    return re.findall(
        rf"^```({forms})\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


EXAMPLES = [
    *examples_in(DOCS, "yaml|python"),
    *examples_in(CHANGE_DATA, "yaml|python"),
    *examples_in(TABLES, "yaml"),
]


def test_there_are_examples_of_both_forms() -> None:
    assert {form for form, _text in EXAMPLES} == {"yaml", "python"}


@pytest.mark.parametrize(("form", "text"), EXAMPLES)
def test_an_example_of_the_documentation_is_a_pipeline(tmp_path: Path, form: str, text: str) -> None:
    path = tmp_path / {"yaml": "example.yaml", "python": "example.py"}[form]
    path.write_text(text, encoding="utf-8")
    assert load(str(path), {}).outputs


@pytest.mark.parametrize(
    "name", [*DECODERS, *ENCODERS, *TABLE_FORMATS, *TARGETS, *(operation.kind for operation in OPERATIONS)]
)
def test_every_registered_name_is_documented(name: str) -> None:
    assert re.search(rf"`\{{?{name}\b", DOCS.read_text(encoding="utf-8"))
