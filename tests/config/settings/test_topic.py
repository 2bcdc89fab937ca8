from penstock.config.table import TOPIC
from penstock.config.topic import TopicConfig


def test_every_field_of_a_topics_settings_has_a_row_in_the_table() -> None:
    assert _topic_fields() <= set(TOPIC)


def test_a_topic_setting_without_a_field_is_documented_as_without_effect() -> None:
    refused = {"remote.storage.enable"}  # only false is accepted
    assert {name for name, prop in TOPIC.items() if not prop.ignored} - refused <= _topic_fields()


def _topic_fields() -> set[str]:
    return {field.replace("_", ".") for field in TopicConfig.__struct_fields__}
