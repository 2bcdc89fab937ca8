"""Patterns in RE2's syntax: they match what Python's engine matches, without its long searches."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config.patterns.automaton import Pattern
from penstock.config.patterns.syntax import InvalidPattern

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
        inner.map(lambda one: f"({one})"),
    ),
    max_leaves=8,
)


@given(pattern=_patterns, names=st.lists(st.text("abxA-_.1", max_size=7), min_size=1, max_size=8))
def test_matches_agree_with_pythons_engine(pattern: str, names: list[str]) -> None:
    matcher = Pattern(pattern)

    assert [matcher.matches(name) for name in names] == [
        re.fullmatch(pattern, name) is not None for name in names
    ]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("orders", "orders", "orders-2"),
        ("^orders-.*$", "orders-eu", "reorders-eu"),
        (r"\Qa.b\E+", "a.bb", "axb"),
        (r"\Qa.b", "a.b", "a-b"),
        ("[[:alpha:]]+", "abc", "ab1"),
        ("[[:^digit:]x1]+", "a1", "a2"),
        (r"[\d.]+", "1.2", "1-2"),
        (r"\pL+", "abC", "a1"),
        (r"\p{Nd}+", "12", "1a"),
        (r"\P{Lu}+", "ab", "aB"),
        (r"\p{^L}+", "12", "a2"),
        (r"\p{Latin}+", "ab", "1"),
        (r"\p{Greek}*", "", "a"),
        (r"\x41\x{42}\103", "ABC", "abc"),
        ("(?i)orders", "ORDers", "0rders"),
        ("a(?i)b|c", "aB", "A"),
        ("(?i:a)b", "Ab", "AB"),
        ("(?-i)a", "a", "A"),
        ("(?P<x>a)(?<y>b)", "ab", "a"),
        ("a{,2}", None, "a"),
        ("a{2", None, "aa"),
        ("[]a]+", "a", "b"),
        ("[a-]+", "a-", "b"),
        (r"[\-a]+", "-a", "b"),
        (r"\Aa\z", "a", "aa"),
        (r"a\B-?.*", "ab", "a-"),
        ("é|a", "a", "e"),
        ("[à-ü]+", "éà", "e"),
        (".", "a", "\n"),
        ("(?s).", "\n", "ab"),
        ("(?s:.)a", "\na", "\n"),
        ("", "", "a"),
        ("(|a)+", "aa", "b"),
    ],
)
def test_re2_syntax_is_supported(pattern: str, yes: str | None, no: str) -> None:
    """None if no topic name can match."""
    matcher = Pattern(pattern)

    assert not matcher.matches(no)
    assert yes is None or matcher.matches(yes)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(",
            ")",
            "a)",
            "[",
            "[a",
            "a**",
            "a+*",
            "*",
            "+a",
            "?",
            "a{3,2}",
            "a{1001}",
            "x{2}{3}",
            "[b-a]",
            "[a-\\d]",
        ),
        *("\\", r"\1", r"\8", r"\k", r"\xg0", r"\x", r"\x{110000}", r"\p", r"\p{", r"\p{x}", r"\pX", r"\Z"),
        *(
            "(?=a)",
            "(?!a)",
            "(?<=a)",
            "(?<!a)",
            "(?>a)",
            "(?P=n)",
            "(?P<>a)",
            "(?P<a",
            "(?x)a",
            "(?i",
            "(?--i)",
        ),
        *("[[:none:]]", "[[:alpha", "{2}"),
        "(" * 200 + ")" * 200,
        "((a{100}){100}){100}",
        "a" * 6000,
    ],
)
def test_syntax_that_re2_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        Pattern(pattern)


def test_a_pattern_with_catastrophic_backtracking_is_matched_at_once() -> None:
    """Python would try 2 to the power of 249 ways; a test that hangs would fail by its timeout."""
    assert not Pattern("(a|a?)+b").matches("a" * 249)
    assert not Pattern("(a*)*(a*)*c").matches("a" * 249)
    assert Pattern("(x+x+)+y").matches("x" * 248 + "y")


def test_a_pattern_that_exceeds_its_budget_is_refused_while_it_matches() -> None:
    matcher = Pattern("(.*a.{900}|.*b.{900}|.*){2}", steps_max=5000, work_max=500_000)

    with pytest.raises(InvalidPattern, match="too costly"):
        for number in range(100_000):
            matcher.matches(f"{number:b}".replace("1", "a").replace("0", "b") * 14)
