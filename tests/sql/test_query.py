"""What a query names, and which texts are no queries."""

import pytest

from penstock.sql.errors import SqlError
from penstock.sql.query import parse_query


def tables(text: str) -> list[str]:
    return [each.name for each in parse_query(text).tables]


def test_tables_are_found_wherever_a_query_can_name_one() -> None:
    assert tables('SELECT (SELECT max(x) FROM a) FROM b JOIN "c-d" USING (x), (FROM e)') == [
        "a", "b", "c-d", "e",
    ]  # fmt: skip
    assert tables("DESCRIBE orders") == ["orders"]
    assert tables("SUMMARIZE orders") == ["orders"]
    assert tables("SELECT * FROM my.topic") == ["my.topic"]
    assert tables("SELECT * FROM 's3://bucket/table'") == ["s3://bucket/table"]


def test_a_table_that_is_named_twice_is_one() -> None:
    assert tables("SELECT * FROM orders a JOIN ORDERS b USING (id) WHERE x IN (FROM orders)") == ["orders"]


def test_names_of_a_with_are_known() -> None:
    query = parse_query("WITH x AS (SELECT * FROM orders) SELECT * FROM x")
    assert query.with_names == {"x"}
    assert [each.name for each in query.tables] == ["orders", "x"]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT customer, sum(o.amount) FROM orders o WHERE _offset > 5", {"customer", "o", "amount", "_offset"}),
        ("SELECT count(*) FROM orders", set()),
        ("SELECT A FROM orders JOIN x USING (b)", {"a", "b"}),
        ("SELECT * FROM orders", None),
        ("SELECT COLUMNS('a.*') FROM orders", None),
        ("SELECT o FROM orders o", None),
        ("SELECT a FROM orders NATURAL JOIN x", None),
        ("SUMMARIZE orders", None),
    ],
)  # fmt: skip
def test_columns_are_those_that_a_query_may_read(text: str, columns: set[str] | None) -> None:
    assert parse_query(text).columns == columns


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("DELETE FROM orders", "DELETE"),
        ("CREATE TABLE x AS SELECT 1", "CREATE"),
        ("COPY (SELECT 1) TO '/tmp/x.csv'", "COPY"),
        ("ATTACH '/tmp/x.db'", "ATTACH"),
        ("SET memory_limit = '100GB'", "SET"),
        ("INSTALL httpfs", "LOAD"),
        ("EXPLAIN DELETE FROM orders", "DELETE"),
    ],
)
def test_statements_that_are_no_queries_are_refused(text: str, kind: str) -> None:
    with pytest.raises(SqlError, match=f"{kind} is not a query"):
        parse_query(text)


def test_one_query_at_a_time() -> None:
    with pytest.raises(SqlError, match="2 statements were given"):
        parse_query("SELECT 1; SELECT 2")
    with pytest.raises(SqlError, match="no statements were given"):
        parse_query("  ")


def test_a_syntax_error_has_its_position() -> None:
    with pytest.raises(SqlError, match=r'syntax error at or near "orders" \(line 2, column 7\)') as error:
        parse_query("SELECT a\nFRM   orders")
    assert error.value.position == (2, 7)


def test_explain_is_taken_off() -> None:
    assert parse_query("EXPLAIN SELECT 1").explains == "plan"
    assert parse_query("explain analyze SELECT 1").explains == "run"
    assert parse_query("EXPLAIN SELECT 1").text == "SELECT 1"
