"""Queries that cannot be followed, and why."""

import pytest

from penstock.sql.errors import SqlError
from penstock.sql.follow import check_followable
from penstock.sql.query import parse_query


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT count(*) FROM orders", "the aggregate count"),
        ("SELECT customer, sum(amount) FROM orders GROUP BY 1", "GROUP BY"),
        ("SELECT * FROM orders ORDER BY amount", "ORDER BY"),
        ("SELECT * FROM orders LIMIT 5", "LIMIT"),
        ("SELECT DISTINCT customer FROM orders", "DISTINCT"),
        ("SELECT row_number() OVER () FROM orders", "a window function"),
        ("SELECT * FROM orders JOIN customers USING (id)", "a join"),
        ("SELECT * FROM (SELECT * FROM orders)", "a join or a subquery"),
        ("SELECT * FROM orders UNION SELECT * FROM orders", "combines queries"),
        ("SELECT * FROM orders WHERE x IN (SELECT y FROM z)", "subquery"),
        ("EXPLAIN SELECT * FROM orders", "does not read records"),
        ("DESCRIBE orders", "does not read records"),
    ],
)
def test_a_query_whose_rows_need_more_than_one_record_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SqlError, match=f"cannot be followed.*{reason}"):
        check_followable(parse_query(text))


def test_filters_and_projections_can_be_followed() -> None:
    check_followable(parse_query("SELECT upper(customer), amount * 2 FROM orders o WHERE amount > 100"))
