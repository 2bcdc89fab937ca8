"""Patterns match as `re` does, and as fast as RE2 does."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config.patterns.automaton import Pattern
from penstock.config.patterns.syntax import InvalidPattern

_pieces = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "[a-c1]", r"\d", r"\w", r"[\s\d]", r"\W", "^", "$", "(?i:A)", "é", ""]
)
patterns = st.recursive(
    _pieces,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{2,}"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        ),
    ),
    max_leaves=8,
)


@given(patterns, st.text(alphabet="abcAB1 é_\n", max_size=8))
def test_matches_agree_with_re_with_ascii_classes(pattern: str, text: str) -> None:
    expected = re.fullmatch(pattern, text, re.ASCII) is not None
    if text.endswith("\n") and "$" in pattern:
        return  # Python's `$` also matches before a last line break; RE2's does not
    assert Pattern(pattern).matches(text) is expected


def test_a_pattern_may_ignore_case() -> None:
    assert Pattern("(?i)order-[a-c]+").matches("ORDER-AbC")
    assert Pattern("order-(?i:x)y").matches("order-Xy")
    assert not Pattern("order-(?i:x)y").matches("order-XY")


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(.*a){12}b", "a*a*a*a*a*a*a*a*b", "(?:x*a*)*b"])
@pytest.mark.timeout(10)
def test_a_pattern_with_catastrophic_backtracking_in_re_is_matched_at_once(pattern: str) -> None:
    assert not Pattern(pattern).matches("a" * 2000)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "[",
        "*a",
        r"(a)\1",
        "(?=a)a",
        "(?!a)b",
        "(?<=a)b",
        "a++",
        "(?>a)",
        "a{9999}",
        "(a{90}){90}",
        "a" * 501,
    ],
)
def test_malformed_patterns_and_syntax_beyond_re2_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        Pattern(pattern)


def test_deep_nesting_is_refused_without_a_crash() -> None:
    with pytest.raises(InvalidPattern):
        Pattern("(" * 500 + ")" * 499)
