import pytest

from penstock.console.api.pipelines import pipeline_and_query


@pytest.mark.parametrize(
    ("group", "found"),
    [
        ("penstock-pipeline.payments.totals", ("payments", "totals")),
        ("penstock-pipeline.payments.dead-letters.orders", ("payments", "dead-letters.orders")),
        ("penstock-pipeline.eu.payments.totals", ("eu.payments", "totals")),
        ("penstock-pipeline.payments", None),
        ("penstock-pipeline..totals", None),
        ("billing", None),
    ],
)
def test_a_group_tells_its_pipeline_and_query(group: str, found: tuple[str, str] | None) -> None:
    assert pipeline_and_query(group, ["payments", "eu.payments", "eu"]) == found
