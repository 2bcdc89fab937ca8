import pytest

from penstock.cli.connect.topics import parse_choice

TOPICS = ["1", "audit", "orders"]


@pytest.mark.parametrize(
    ("answer", "topic"),
    [
        ("3\n", "orders"),
        ("orders\n", "orders"),
        ("1", "1"),
        (" 2 ", "audit"),
        ("0", None),
        ("4", None),
        ("", None),
        ("-1", None),
    ],
)
def test_a_topic_is_chosen_by_its_name_or_its_number(answer: str, topic: str | None) -> None:
    assert parse_choice(TOPICS, answer) == topic
