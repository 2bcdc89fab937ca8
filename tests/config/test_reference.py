from pathlib import Path

from penstock.config.reference import configuration_reference


def test_the_committed_reference_matches_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "configuration.md"
    assert page.read_text(encoding="utf-8") == configuration_reference(), (
        "run: python -m penstock.config.reference > docs/configuration.md"
    )
