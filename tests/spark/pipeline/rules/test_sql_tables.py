import re

import pytest
from pyspark.sql import SparkSession

from penstock.spark.pipeline.rules.sql_tables import WrongSql, referenced_tables

QUERIES = [
    ("SELECT * FROM orders", ["orders"]),
    ("select a from orders o join `payments` p on o.id = p.id", ["orders", "payments"]),
    ("SELECT 1 FROM a, b AS x, c", ["a", "b", "c"]),
    ("SELECT * FROM a LEFT OUTER JOIN b USING (id) CROSS JOIN c", ["a", "b", "c"]),
    ("SELECT (SELECT max(x) FROM u), y FROM t ORDER BY a, b", ["u", "t"]),
    ("SELECT * FROM (SELECT * FROM a UNION ALL SELECT * FROM b) AS both", ["a", "b"]),
    ("SELECT * FROM (a JOIN b ON a.x = b.x)", ["a", "b"]),
    ("WITH w AS (SELECT * FROM orders), v AS (SELECT * FROM w) SELECT * FROM v, w", ["orders"]),
    ("WITH w (a, b) AS (SELECT * FROM orders) SELECT * FROM w", ["orders"]),
    ("WITH orders AS (SELECT * FROM orders) SELECT * FROM orders", ["orders"]),
    ("WITH RECURSIVE r AS (SELECT 1 FROM seed UNION ALL SELECT 1 FROM r) SELECT * FROM r", ["seed"]),
    ("SELECT * FROM (WITH w AS (SELECT 1 FROM a) SELECT * FROM w) JOIN w ON true", ["a", "w"]),
    ("SELECT extract(YEAR FROM at), trim(BOTH ' ' FROM name) FROM orders", ["orders"]),
    ("SELECT * FROM orders WHERE a IS NOT DISTINCT FROM b AND c IS DISTINCT FROM d", ["orders"]),
    ("SELECT 'it''s FROM strings', \"FROM x\", r'\\' FROM orders", ["orders"]),
    ("SELECT * -- FROM comments\nFROM /* FROM /* nested */ x */ orders", ["orders"]),
    ("SELECT * FROM range(10), orders", ["orders"]),
    ("SELECT * FROM orders LATERAL VIEW explode(xs) t AS x, y", ["orders"]),
    (
        "SELECT * FROM orders, LATERAL (SELECT * FROM lines WHERE lines.id = orders.id)",
        ["orders", "lines"],
    ),
    ("SELECT * FROM VALUES (1, 2), (3, 4) AS t(a, b) JOIN orders", ["orders"]),
    ("FROM orders |> WHERE a > 1 |> SELECT a", ["orders"]),
    ("TABLE orders", ["orders"]),
    ("SELECT `from`, t.from FROM `my orders`", ["my orders"]),
    ("SELECT * FROM db.orders", ["db.orders"]),
    ("SELECT * FROM orders UNION SELECT * FROM Orders", ["orders"]),
    ("SELECT cast(a AS decimal(10, 2)), b AS (c) FROM orders", ["orders"]),
    ("SELECT sum(a) OVER (PARTITION BY b ORDER BY c), d FROM orders", ["orders"]),
    ("SELECT 1", []),
    ("SELECT * FROM t TABLESAMPLE (10 PERCENT), u", ["t", "u"]),
    ("SELECT * EXCEPT (a, b) FROM t", ["t"]),
    ("SELECT * FROM a NATURAL JOIN b LEFT ANTI JOIN c ON true", ["a", "b", "c"]),
    ("SELECT * FROM o JOIN LATERAL explode(o.items) AS i", ["o"]),
    ("SELECT * FROM (VALUES (1, 2)) v(x, y), t", ["t"]),
    ("SELECT * FROM f(TABLE(orders))", ["orders"]),
    ("SELECT * FROM t PIVOT (sum(a) FOR b IN ('x', 'y'))", ["t"]),
    ("SELECT trim(FROM x), overlay(a PLACING 'x' FROM 1 FOR 2), substring(c FROM 2) FROM t", ["t"]),
    ("SELECT a FROM t WINDOW w AS (PARTITION BY a), v AS (ORDER BY b)", ["t"]),
    (
        "SELECT a FROM t INTERSECT SELECT b FROM u MINUS SELECT c FROM v ORDER BY a, b LIMIT 3",
        ["t", "u", "v"],
    ),
    ("SELECT * FROM t LATERAL VIEW OUTER explode(a) x LATERAL VIEW explode(b) y AS c, d WHERE e", ["t"]),
    ("(SELECT * FROM a) UNION (SELECT * FROM b)", ["a", "b"]),
    ("FROM a |> JOIN b USING (id) |> AGGREGATE sum(x) GROUP BY y |> SELECT z", ["a", "b"]),
    ("SELECT * FROM a JOIN b ON a.x = b.x AND a.ts > b.ts - INTERVAL 1 HOUR, c", ["a", "b", "c"]),
    ("SELECT 1 FROM t WHERE EXISTS (FROM u)", ["t", "u"]),
    ("SELECT * FROM STREAM orders, STREAM(others)", ["orders", "others"]),
    ("SELECT date'2020-01-01', x'1F', 1 AS `a``b` FROM `t``u`", ["t`u"]),
]
# What is no query at all, but reads declared names: Spark tells the user what is wrong.
FRAGMENTS = [
    ("SELECT a FROM t WHERE a IN (SELECT id FROM u) AND", ["t", "u"]),
    ("SELECT a FRM t WHERE a IN (SELECT id FROM u)", ["u"]),
    ("WITH w AS (SELECT 1 FROM t) SELECT a FROM w WHERE", ["t"]),
    ("", []),
    ("SELECT * FROM a) FROM b", ["a", "b"]),
]
DECLARED = ("a", "b", "t", "u")


@pytest.mark.parametrize(("query", "tables"), QUERIES + FRAGMENTS)
def test_the_tables_that_a_query_reads_are_found_in_its_text(query: str, tables: list[str]) -> None:
    assert [reference.name for reference in referenced_tables(query, DECLARED)] == tables


def test_each_table_comes_with_the_line_where_it_is_first_read() -> None:
    query = "SELECT *\n  FROM orders -- a\n  JOIN /* b\n */ payments ON true\n  JOIN orders o2 ON true"
    assert [(each.name, each.line) for each in referenced_tables(query, ())] == [
        ("orders", 1),
        ("payments", 3),
    ]


@pytest.mark.parametrize("query", ["SELECT 'it FROM orders", "SELECT * FROM orders /* never closed"])
def test_a_quote_or_comment_that_is_never_closed_is_refused(query: str) -> None:
    with pytest.raises(ValueError, match="never closed"):
        referenced_tables(query, ())


@pytest.mark.xdist_group("spark")
def test_sparks_own_parser_finds_the_same_tables(spark: SparkSession) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()
    for query, _tables in QUERIES:
        plan = parser.parsePlan(query).toString()
        names = {name.strip() for group in re.findall(r"CTE \[([^\]]*)\]", plan) for name in group.split(",")}
        relations = set(re.findall(r"UnresolvedRelation \[([^\]]*)\]", plan))
        ours = {each.name.replace(".", ", ").casefold() for each in referenced_tables(query, ())}
        assert {name.casefold() for name in relations} - ours <= names, query
        assert ours <= {name.casefold() for name in relations}, query


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("SELECT a FRM t", 0),
        ("SELECT a\n  FRM t", 1),
        ("SELECT * FROM", 0),
        ("SELECT a FROM t WHERE a IN (SELECT id FROM u", 0),
        ("SELECT a FROM nowhere WHERE AND", 0),
    ],
)
def test_wrong_sql_is_called_wrong_sql_and_not_an_unknown_name(query: str, line: int) -> None:
    with pytest.raises(WrongSql, match="not valid SQL") as caught:
        referenced_tables(query, ("nothing",))
    assert caught.value.line == line
