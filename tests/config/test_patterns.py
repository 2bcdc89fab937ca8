"""Patterns in RE2's syntax: they match what Python's engine matches, without its long searches."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config.patterns import InvalidPattern, Pattern

_atoms = st.sampled_from(
    ["a", "b", "x", "-", "_", r"\.", ".", "[ab]", "[^a]", "[a-c_.]", r"\d", r"\W", r"\b", "^", "$", "(?:)"]
)
_repetitions = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{1,}", "*?", "+?"])
_patterns = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})"),
        st.tuples(inner, _repetitions).map(lambda two: f"(?:{two[0]}){two[1]}"),
        inner.map(lambda one: f"(?i:{one})"),
    ),
    max_leaves=8,
)


@given(pattern=_patterns, names=st.lists(st.text("abxA-_.1", max_size=7), min_size=1, max_size=8))
def test_matches_agree_with_pythons_engine_on_whole_names(pattern: str, names: list[str]) -> None:
    matcher = Pattern(pattern)

    assert [matcher.matches(name) for name in names] == [
        re.fullmatch(pattern, name) is not None for name in names
    ]


@pytest.mark.parametrize(
    "pattern", ["(", "a**", "a{1001}", "[b-a]", r"\1", r"\Z", "(?=a)", "(?<!a)", "(?>a)"]
)
def test_syntax_that_re2_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        Pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(", "missing closing )"),
        ("a[", "missing closing ]"),
        ("*a", "missing argument to repetition operator"),
        ("a**", "invalid nested repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("a\\", "trailing backslash at end of expression"),
        ("a)", "unexpected )"),
    ],
)
def test_messages_are_those_of_kafkas_engine(pattern: str, message: str) -> None:
    with pytest.raises(InvalidPattern) as refused:
        Pattern(pattern)
    assert str(refused.value) == message


@pytest.mark.parametrize("pattern", ["((a{10}){10}){10}" * 10, "a" * 6000, "\ud800"])
def test_a_pattern_that_is_too_large_or_no_text_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        Pattern(pattern)


@pytest.mark.timeout(10)
def test_a_pattern_with_catastrophic_backtracking_is_matched_at_once() -> None:
    """Python would try 2 to the power of 249 ways; a test that hangs would fail by its timeout."""
    assert not Pattern("(a|a?)+b").matches("a" * 249)
    assert not Pattern("(a*)*(a*)*c").matches("a" * 249)
    assert Pattern("(x+x+)+y").matches("x" * 248 + "y")


def test_a_pattern_that_exceeds_its_budget_is_refused_while_it_matches() -> None:
    matcher = Pattern("(.*a.{60}|.*b.{60}|.*){2}", work_max=10_000_000)

    with pytest.raises(InvalidPattern, match="too costly"):
        for number in range(100_000):
            matcher.matches(f"{number:b}".replace("1", "a").replace("0", "b") * 14)
