import pytest

from penstock.config.property import render
from penstock.config.table import BROKER, BROKER_THEMES, GROUP, TOPIC
from penstock.config.theme import Theme
from penstock.config.themes import group, topic
from penstock.config.topic import TopicConfig


@pytest.mark.parametrize("theme", [topic.THEME, group.THEME, *BROKER_THEMES], ids=lambda theme: theme.title)
def test_every_default_is_a_value_that_the_setting_itself_would_take(theme: Theme) -> None:
    for prop in theme.properties:
        if (text := render(prop.default)) is not None:
            assert prop.parse(text) == prop.default, prop.name


def test_every_setting_is_documented() -> None:
    for prop in (*BROKER.values(), *TOPIC.values(), *GROUP.values()):
        assert prop.doc.endswith((".", ")")), prop.name


def test_every_synonym_of_a_topic_or_group_setting_is_a_broker_setting() -> None:
    for prop in (*TOPIC.values(), *GROUP.values()):
        for synonym in prop.synonyms:
            assert synonym in BROKER, prop.name


def test_every_field_of_a_topics_settings_has_a_row_in_the_table() -> None:
    assert {field.replace("_", ".") for field in TopicConfig.__struct_fields__} <= set(TOPIC)
