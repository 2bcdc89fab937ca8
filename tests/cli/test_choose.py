import pytest

from penstock.cli.choose import chosen_topic

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
    assert chosen_topic(TOPICS, answer) == topic
