import pytest

from penstock.cli.errors import CommandError
from penstock.cli.lines import LineError, RecordMaker, parse_header


@pytest.mark.parametrize(
    ("line", "value"),
    [(b"a\n", b"a"), (b"a\r\n", b"a"), (b"a", b"a"), (b"a\r", b"a\r"), (b"\n", b""), (b"a\n\n", b"a\n")],
)
def test_the_end_of_a_line_is_not_part_of_the_value(line: bytes, value: bytes) -> None:
    assert RecordMaker().make(line) == (None, value)


def test_the_first_separator_ends_the_key() -> None:
    assert RecordMaker(key_separator=b": ").make(b"user: a: b\n") == (b"user", b"a: b")


def test_a_line_without_the_separator_is_no_record() -> None:
    with pytest.raises(LineError, match="no key separator ':'"):
        RecordMaker(key_separator=b":").make(b"user\n")


def test_a_fixed_key_goes_with_every_line() -> None:
    assert RecordMaker(key=b"k").make(b"v\n") == (b"k", b"v")


def test_the_null_token_is_a_tombstone_and_an_empty_value_is_not() -> None:
    maker = RecordMaker(key_separator=b":", null_value=b"NULL")
    assert maker.make(b"k:NULL\n") == (b"k", None)
    assert maker.make(b"k:\n") == (b"k", b"")
    assert maker.make(b"NULL:v\n") == (b"NULL", b"v")


def test_a_header_may_have_an_empty_value_or_none() -> None:
    assert parse_header("a=b=c") == ("a", b"b=c")
    assert parse_header("a=") == ("a", b"")
    assert parse_header("a") == ("a", None)
    with pytest.raises(CommandError, match="has no name"):
        parse_header("=b")
