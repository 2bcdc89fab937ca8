from pathlib import Path

from penstock_bench.figures import Comparison, Row, Section, Series
from penstock_bench.plots import draw


def row(target: str, *values: float) -> Row:
    return Row(target=target, durability="page cache", series=Series(label=target, unit="/s", values=values))


def test_a_section_that_compares_targets_gets_a_picture_and_others_do_not(tmp_path: Path) -> None:
    rows = (row("Penstock", 1000.0, 1200.0), row("Kafka", 3.0, 5.0))
    compared = Comparison(what="rate", unit="/s", is_more_better=True, rows=rows)
    sections = (
        Section(key="n", title="Batched", method="", comparisons=(compared,)),
        Section(key="b", title="Lone", method=""),
    )
    assert draw(sections, str(tmp_path / "pictures")) == {"n": ["n.png"]}
    assert (tmp_path / "pictures" / "n.png").read_bytes().startswith(b"\x89PNG")
