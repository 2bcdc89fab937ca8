"""The cases in docs/testing.md fit the pipelines that the documents and the examples have."""

import re
import shutil
from pathlib import Path

from examples.run import EXAMPLES
from penstock.spark.testing.cases.find import read_file

DOCS = Path(__file__).parents[4] / "docs"


def blocks(name: str) -> list[str]:
    text = (DOCS / name).read_text(encoding="utf-8")
    return re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_cases_of_the_documentation_are_cases(tmp_path: Path) -> None:
    payments, late = [text for text in blocks("testing.md") if text.startswith("cases:")]
    (tmp_path / "payments.yaml").write_text(blocks("pipelines.md")[0])
    (tmp_path / "payments.tests.yaml").write_text(payments)
    shutil.copy(EXAMPLES / "iot_telemetry" / "pipeline.yaml", tmp_path)
    (tmp_path / "pipeline.tests.yaml").write_text(late)
    found = [read_file(str(tmp_path / f"{name}.tests.yaml")).cases for name in ("payments", "pipeline")]
    assert [len(cases[0].steps) for cases in found] == [1, 2]
