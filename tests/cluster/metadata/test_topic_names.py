import pytest

from penstock.cluster.metadata import topic_names
from penstock.spark.sink.decision import DECISIONS_TOPIC


@pytest.mark.parametrize("name", ["orders", "a.b_c-D9", "...", "x" * 249, "__consumer_offsets"])
def test_letters_digits_dot_underscore_and_dash_make_a_name(name: str) -> None:
    assert topic_names.invalid_name_reason(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "Topic name is invalid: the empty string is not allowed"),
        (".", "Topic name is invalid: '.' is not allowed"),
        ("..", "Topic name is invalid: '..' is not allowed"),
        (
            "x" * 250,
            f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed length 249",
        ),
        (
            "a b",
            (
                "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, "
                "'.', '_' and '-'"
            ),
        ),
    ],
)
def test_an_invalid_name_is_refused_with_kafkas_message(name: str, reason: str) -> None:
    assert topic_names.invalid_name_reason(name) == reason


@pytest.mark.parametrize("name", ["a/b", "é", "a\n", "a:b", "٣"])
def test_no_other_character_gets_into_a_directory_name(name: str) -> None:
    assert topic_names.invalid_name_reason(name) is not None


def test_names_that_differ_only_in_dot_and_underscore_have_one_collision_key() -> None:
    assert topic_names.collision_key("a.b_c") == topic_names.collision_key("a_b.c")
    assert not topic_names.has_collision_chars("a-b")


def test_the_coordinators_topics_are_internal() -> None:
    assert topic_names.is_internal("__consumer_offsets")
    assert topic_names.is_internal("__transaction_state")
    assert not topic_names.is_internal("__mine")


def test_the_topic_of_the_sinks_is_internal_under_the_name_that_the_sinks_use() -> None:
    assert topic_names.is_internal(DECISIONS_TOPIC)
