"""What a change means for a query, without Spark: each kind of change, its verdict, and its first way out."""

import pytest
from msgspec.structs import replace

from penstock.spark.pipeline.plan.compare import compare_query
from penstock.spark.pipeline.plan.findings import Verdict, Ways
from penstock.spark.pipeline.plan.record import OperatorRecord, QueryRecord, SourceRecord

WAYS = Ways(file="shop.yaml", key="totals", line=7)
ORDERS = SourceRecord(name="orders", topics=("orders",))
PAYMENTS = SourceRecord(name="payments", topics=("payments",))
SUM = OperatorRecord(
    kind="Aggregate",
    keys=(("window", "struct"), ("id", "string")),
    values=(("sum(amount)", "double"),),
    windows=("of 60000000",),
)
STATEFUL = QueryRecord(
    key="totals",
    sources=(ORDERS,),
    operators=(SUM,),
    target="table lake/totals (delta)",
    mode="append",
    columns=(("id", "string"), ("total", "double")),
    parts={"orders": "topic orders", "totals": "sum by id"},
    shuffle_partitions=4,
)
STATELESS = replace(STATEFUL, operators=())


def compared(old: QueryRecord, new: QueryRecord) -> tuple[Verdict, str, tuple[str, ...]]:
    (finding,) = compare_query(old, new, WAYS)
    return finding.verdict, finding.message, finding.advice


def operator(**changed: object) -> QueryRecord:
    return replace(STATEFUL, operators=(replace(SUM, **changed),))


def test_nothing_is_found_where_nothing_has_changed() -> None:
    assert compare_query(STATEFUL, STATEFUL, WAYS) == []
    assert compare_query(STATELESS, STATELESS, WAYS) == []


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (
            operator(keys=(("customer", "string"),)),
            "the keys of aggregate by window, id were window struct, id",
        ),
        (operator(keys=(("window", "struct"), ("id", "bigint"))), "id bigint now"),
        (operator(windows=("of 120000000",)), "the windows of aggregate by window, id have another size"),
        (
            operator(values=(("max(amount)", "double"),)),
            "kept sum(amount) double and keeps max(amount) double now",
        ),
        (operator(kind="Deduplicate"), "operator 1 was aggregate by window, id and is deduplicate"),
        (replace(STATEFUL, operators=()), "aggregate by window, id is gone"),
        (replace(STATEFUL, operators=(SUM, SUM)), "aggregate by window, id is new"),
    ],
)
def test_another_state_cannot_go_on(new: QueryRecord, says: str) -> None:
    verdict, message, advice = compared(STATEFUL, new)
    assert verdict is Verdict.CANNOT_GO_ON
    assert says in message
    assert advice[0].startswith("`penstock pipeline reset shop.yaml --output totals`")
    assert "`penstock pipeline plan shop.yaml --accept totals`" in advice[-1]


def test_the_parts_that_changed_are_named_with_the_state_that_does_not_fit() -> None:
    new = replace(operator(keys=()), parts={"orders": "topic orders", "totals": "sum of all"})
    assert compared(STATEFUL, new)[1].endswith("(changed: totals)")


def test_a_source_that_is_added_cannot_go_on() -> None:
    verdict, message, _ = compared(STATEFUL, replace(STATEFUL, sources=(ORDERS, PAYMENTS)))
    assert verdict is Verdict.CANNOT_GO_ON
    assert "it read 1 streams (orders (topic orders)) and reads 2 now" in message


def test_a_source_with_another_topic_cannot_go_on_but_with_one_more_it_can() -> None:
    moved = replace(STATELESS, sources=(replace(ORDERS, topics=("orders2",)),))
    verdict, message, advice = compared(STATELESS, moved)
    assert verdict is Verdict.CANNOT_GO_ON
    assert "source orders no longer reads topic orders" in message
    assert "failOnDataLoss" in advice[1]
    both = replace(STATELESS, sources=(replace(ORDERS, topics=("orders", "orders2")),))
    verdict, message, _ = compared(STATELESS, both)
    assert verdict is Verdict.GOES_ON
    assert message == "source orders reads topic orders2 too, from its beginning"


def test_sources_in_another_order_would_get_each_others_offsets() -> None:
    old = replace(STATELESS, sources=(ORDERS, PAYMENTS))
    verdict, message, _ = compared(old, replace(STATELESS, sources=(PAYMENTS, ORDERS)))
    assert (verdict, "another order" in message) == (Verdict.CANNOT_GO_ON, True)


def test_a_filter_applies_from_now_on() -> None:
    new = replace(STATELESS, parts={"orders": "topic orders", "totals": "sum by id where true"})
    verdict, message, advice = compared(STATELESS, new)
    assert verdict is Verdict.GOES_ON
    assert "its definition has changed (changed: totals)" in message
    assert advice[0].startswith("replay into a new table")


def test_a_column_applies_from_now_on() -> None:
    verdict, message, _ = compared(STATELESS, replace(STATELESS, columns=(("id", "string"),)))
    assert verdict is Verdict.GOES_ON
    assert "its columns were id string, total double and are id string now" in message


def test_another_output_mode_cannot_go_on_with_state_and_can_without() -> None:
    assert compared(STATEFUL, replace(STATEFUL, mode="update"))[0] is Verdict.CANNOT_GO_ON
    assert compared(STATELESS, replace(STATELESS, mode="update"))[0] is Verdict.GOES_ON


def test_state_keeps_its_number_of_shuffle_partitions() -> None:
    verdict, message, _ = compared(STATEFUL, replace(STATEFUL, shuffle_partitions=8))
    assert verdict is Verdict.GOES_ON
    assert "it keeps the 4 shuffle partitions that its state has, not 8" in message
    assert compare_query(STATELESS, replace(STATELESS, shuffle_partitions=8), WAYS) == []


def test_another_target_gets_what_is_written_from_now_on() -> None:
    verdict, message, _ = compared(STATELESS, replace(STATELESS, target="topic totals"))
    assert verdict is Verdict.GOES_ON
    assert "what it wrote before is not copied" in message


def test_a_finding_is_a_warning_of_check_with_its_line() -> None:
    (finding,) = compare_query(STATEFUL, operator(keys=()), WAYS)
    assert finding.problem.is_warning
    assert finding.problem.text("shop.yaml").startswith(
        "shop.yaml:7: warning: totals cannot go on: its state"
    )
