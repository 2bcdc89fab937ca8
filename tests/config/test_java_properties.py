import pytest

from penstock.config.java_properties import parse
from penstock.config.property import ConfigError


def test_comments_and_blank_lines_are_skipped() -> None:
    assert parse("# a=1\n\n  ! b=2\nc=3\n") == {"c": "3"}


@pytest.mark.parametrize("line", ["key=value", "key:value", "key value", "  key  =  value", "key\t:value"])
def test_key_and_value_are_separated_by_equals_colon_or_space(line: str) -> None:
    assert parse(line) == {"key": "value"}


def test_a_value_keeps_further_separators_and_trailing_space() -> None:
    assert parse("listeners=PLAINTEXT://:9092 ") == {"listeners": "PLAINTEXT://:9092 "}


def test_a_backslash_at_the_end_joins_lines_and_drops_the_next_ones_indent() -> None:
    assert parse("list=a,\\\n    b,\\\n    c\nother=1") == {"list": "a,b,c", "other": "1"}


def test_a_joined_line_is_no_comment_even_when_it_looks_like_one() -> None:
    assert parse("list=a,\\\n  #b") == {"list": "a,#b"}


def test_an_even_number_of_backslashes_at_the_end_joins_nothing() -> None:
    assert parse("path=c:\\\\\nother=1") == {"path": "c:\\", "other": "1"}


def test_escapes_become_the_characters_they_name() -> None:
    assert parse(r"a\ b\=c=\u0041\t\z") == {"a b=c": "A\tz"}


def test_a_broken_unicode_escape_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"Line 2: \\uzzzz is not a character"):
        parse("a=1\nb=\\uzzzz")


def test_a_key_alone_has_an_empty_value_and_the_last_of_two_counts() -> None:
    assert parse("a\nb=1\nb=2\\") == {"a": "", "b": "2"}
