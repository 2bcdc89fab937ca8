"""The documentation of a member's states agrees with the table."""

from pathlib import Path

from penstock.groups.consumer.states import TRANSITIONS


def test_the_documentation_is_drawn_from_the_table() -> None:
    text = (Path(__file__).parents[3] / "docs" / "groups.md").read_text()
    section = text.partition("The states of a member of a KIP-848 group")[2].partition("\n## ")[0]
    drawn = {line.strip() for line in section.splitlines() if " --> " in line}

    assert drawn == {
        f"{state.name} --> {then.name}: {finding.value}"
        for state, row in TRANSITIONS.items()
        for finding, then in row.items()
    }
