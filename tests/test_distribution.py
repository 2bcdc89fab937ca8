"""The name that is installed is not the name that is imported."""

import re
import tomllib
from pathlib import Path

from penstock import __version__
from penstock.distribution import DISTRIBUTION, pip_install

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# The other project's name where pip would look for it.
_OTHERS = re.compile(r"pip install [^`\n]*(?<![\w./-])penstock(?:\[|['`\s]|$)")


def test_hints_name_the_distribution_and_extras_that_the_metadata_has() -> None:
    assert PROJECT["name"] == DISTRIBUTION
    assert PROJECT["version"] == __version__
    assert PROJECT["scripts"] == {"penstock": "penstock.cli.main:main"}
    assert pip_install("spark", "jre") == "pip install 'penstock-broker[spark,jre]'"
    assert set(PROJECT["optional-dependencies"]) >= {"spark", "jre", "iceberg", "plot", "bench", "all"}


def test_no_text_tells_anyone_to_install_the_other_project() -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in texts
        for line in path.read_text().splitlines()
        if _OTHERS.search(line) and "brings that one" not in line
    ]
    assert found == []
