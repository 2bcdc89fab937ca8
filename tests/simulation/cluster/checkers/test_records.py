"""The checker of records: accepted histories, and each way to fail."""

import pytest

from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.checkers.records import RecordChecker
from penstock_simulation.violation import Violation, ViolationLog

P = ("orders", 0)
Q = ("solo", 0)
NONE, OUT_OF_ORDER = ErrorCode.NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


class Case:
    def __init__(self) -> None:
        self.violations = ViolationLog()
        self.checker = RecordChecker(self.violations)

    @property
    def invariant(self) -> str | None:
        return None if self.violations.first is None else self.violations.first.invariant


@pytest.fixture
def case() -> Case:
    case = Case()
    case.checker.on_acknowledged(P, 0, b"0")
    case.checker.on_acknowledged(P, 2, b"1")
    case.checker.on_read(P, 0, b"0")
    return case


def test_a_log_with_all_acknowledged_records_in_order_passes(case: Case) -> None:
    found = [(0, b"0"), (2, b"1"), (3, b"2")]
    case.checker.check_log(P, found)
    case.checker.check_numbers(P, found)
    case.violations.check()
    assert case.checker.acknowledged_count == 2


def test_a_lost_record_is_noticed(case: Case) -> None:
    case.checker.check_log(P, [(0, b"0")])
    assert case.invariant == "acknowledged"


def test_a_record_at_another_offset_is_noticed(case: Case) -> None:
    case.checker.check_log(P, [(0, b"0"), (1, b"1")])
    assert case.invariant == "acknowledged"


def test_two_records_at_one_offset_are_noticed(case: Case) -> None:
    case.checker.on_acknowledged(P, 2, b"2")
    assert case.invariant == "acknowledged"


def test_a_later_record_at_an_earlier_offset_is_noticed(case: Case) -> None:
    case.checker.on_acknowledged(P, 1, b"2")
    assert case.invariant == "acknowledged"


def test_an_acknowledged_record_where_another_was_read_is_noticed(case: Case) -> None:
    case.checker.on_read(P, 5, b"a")
    case.checker.on_acknowledged(P, 5, b"b")
    assert case.invariant == "acknowledged"


def test_another_record_than_was_read_before_is_noticed(case: Case) -> None:
    case.checker.on_read(P, 0, b"x")
    assert case.invariant == "read"


def test_another_record_than_was_acknowledged_is_noticed(case: Case) -> None:
    case.checker.on_read(P, 2, b"x")
    assert case.invariant == "read"


def test_a_record_that_was_read_and_then_lost_is_noticed(case: Case) -> None:
    case.checker.on_read(P, 3, b"2")
    case.checker.check_log(P, [(0, b"0"), (2, b"1")])
    assert case.invariant == "read"


@pytest.mark.parametrize("found", [[(0, b"0"), (1, b"0")], [(0, b"1"), (1, b"0")], [(0, b"0"), (1, b"2")]])
def test_a_duplicate_reordered_or_missing_record_is_noticed(
    case: Case, found: list[tuple[int, bytes]]
) -> None:
    case.checker.check_numbers(P, found)
    assert case.invariant == "order"


def test_each_of_several_producers_has_an_order_of_its_own(case: Case) -> None:
    for offset, value in ((3, b"b 1"), (1, b"a 0"), (4, b"a 1")):
        case.checker.on_acknowledged(Q, offset, value)
    case.checker.check_numbers(Q, [(0, b"b 0"), (1, b"a 0"), (3, b"b 1"), (4, b"a 1")])
    case.violations.check()
    case.checker.on_acknowledged(Q, 2, b"b 2")
    assert case.invariant == "acknowledged"


def test_a_producer_that_is_not_idempotent_may_store_duplicates(case: Case) -> None:
    case.checker.non_idempotent.add("a")
    case.checker.check_numbers(Q, [(0, b"a 0"), (1, b"b 0"), (2, b"a 1"), (3, b"a 0")])
    case.violations.check()
    case.checker.check_numbers(Q, [(0, b"a 0"), (1, b"b 0"), (2, b"a 1"), (3, b"b 0")])
    assert case.invariant == "order"


def test_a_producer_that_is_not_idempotent_omits_nothing(case: Case) -> None:
    case.checker.non_idempotent.add("a")
    case.checker.check_numbers(Q, [(0, b"a 0"), (1, b"a 0"), (2, b"a 2"), (3, b"a 1")])
    assert case.invariant == "order"


def test_a_topic_that_may_lose_records_is_excused(case: Case) -> None:
    case.checker.lossy_topics.add("orders")
    case.checker.check_log(P, [])
    case.checker.on_acknowledged(P, 0, b"x")
    case.checker.on_read(P, 0, b"y")
    case.violations.check()


def test_the_first_violation_is_reported() -> None:
    violations = ViolationLog()
    violations.check()
    violations.report("one", "first")
    violations.report("two", "second")
    with pytest.raises(Violation, match="one: first"):
        violations.check()


@pytest.mark.parametrize(
    "codes",
    [
        (NONE, NONE),
        (OUT_OF_ORDER, OUT_OF_ORDER),  # of a leader that does not have what came before
        (NONE, NOT_LEADER, OUT_OF_ORDER),
        (NONE, None, None),
    ],
)
def test_a_sequence_may_be_rejected_after_a_batch_that_was_not_stored(
    case: Case, codes: tuple[ErrorCode | None, ...]
) -> None:
    case.checker.on_pipelined(P, codes)
    case.violations.check()


@pytest.mark.parametrize("codes", [(NONE, OUT_OF_ORDER), (OUT_OF_ORDER, NONE), (NONE, NONE, OUT_OF_ORDER)])
def test_pipelined_batches_that_are_appended_in_another_order_are_noticed(
    case: Case, codes: tuple[ErrorCode, ...]
) -> None:
    case.checker.on_pipelined(P, codes)
    assert case.invariant == "pipelined order"
