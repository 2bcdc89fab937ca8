import re
from importlib import import_module
from pathlib import Path

import pytest

import penstock
from penstock.config.property import Kind, Live, Property, render
from penstock.config.section import Section
from penstock.config.settings import group, topic
from penstock.config.table import BROKER, BROKER_SECTIONS, GROUP, TOPIC, is_skipped
from tests.interop.answers import recorded


@pytest.mark.parametrize(
    "theme", [topic.SECTION, group.SECTION, *BROKER_SECTIONS], ids=lambda theme: theme.title
)
def test_every_default_is_a_valid_value_of_its_setting(theme: Section) -> None:
    for prop in theme.properties:
        if (text := render(prop.default)) is not None:
            assert prop.parse(text) == prop.default, prop.name


def test_every_setting_is_documented() -> None:
    for prop in (*BROKER.values(), *TOPIC.values(), *GROUP.values()):
        assert prop.doc.endswith((".", ")")), prop.name


def test_a_setting_that_nothing_reads_is_documented_as_without_effect() -> None:
    package = Path(penstock.__file__).parent
    settings = package / "config" / "settings"
    read = {
        word
        for path in package.rglob("*.py")
        if settings not in path.parents and "protocol" not in path.parts
        for word in re.findall(r"[A-Z][A-Z0-9_]{4,}", path.read_text(encoding="utf-8"))
    }
    of_topics = {name for prop in TOPIC.values() for name in prop.synonyms}
    bounds = {prop.name for bounded in group.SECTION.bounds.values() for prop in bounded}
    constants = {
        prop.name: name
        for module in settings.glob("[a-z]*.py")
        for name, prop in vars(import_module(f"penstock.config.settings.{module.stem}")).items()
        if isinstance(prop, Property)
    }
    unread = {
        name
        for name, prop in BROKER.items()
        if not prop.ignored and name not in of_topics | bounds and constants.get(name) not in read
    }
    assert unread == set()
    assert BROKER["ssl.protocol"].doc.endswith("Without effect.")


OWN_DEFAULTS = {
    "broker.heartbeat.interval.ms",
    "broker.session.timeout.ms",
    "group.initial.rebalance.delay.ms",
    "log.flush.interval.messages",
    "metric.reporters",
    "replica.fetch.backoff.ms",
    "sasl.enabled.mechanisms",
    "ssl.keystore.type",
    "ssl.truststore.type",
}
CHANGED_WHILE_RUNNING = re.compile(r"sasl\.oauthbearer\.\S+|transaction\.partition\.verification\.enable")


def test_every_broker_setting_that_kafka_lists_is_there_with_its_type_default_and_update() -> None:
    """As Kafka 4.3.1 answered DescribeConfigs. Intended differences are listed above."""
    kafkas = {
        label.removeprefix("setting ").removesuffix(" of 4"): answer
        for label, answer in recorded.read().items()
        if label.startswith("setting ") and label.endswith(" of 4")
    }
    assert len(kafkas) > 300
    for name, answer in kafkas.items():
        prop = BROKER[name]
        assert (prop.kind, prop.sensitive) == (answer["config_type"], answer["is_sensitive"]), name
        if not CHANGED_WHILE_RUNNING.fullmatch(name):
            assert (prop.live is Live.READ_ONLY) is answer["read_only"], name
        if name not in OWN_DEFAULTS and not prop.sensitive:
            default = next((each["value"] for each in answer["synonyms"] if each["source"] == 5), None)
            in_topics = any(name in topic_setting.synonyms for topic_setting in TOPIC.values())
            assert render(prop.default) == default or in_topics, name


@pytest.mark.parametrize(
    "name",
    ["controller.quorum.auto.join.enable", "controller.quorum.fetch.max.bytes", "listeners", "log.dirs"],
)
def test_settings_missing_from_the_recorded_answers_are_there_too(name: str) -> None:
    assert (name in BROKER, BROKER["listeners"].kind, BROKER["log.dirs"].kind) == (True, Kind.LIST, Kind.LIST)


def test_every_synonym_of_a_topic_or_group_setting_is_a_broker_setting() -> None:
    for prop in (*TOPIC.values(), *GROUP.values()):
        for synonym in prop.synonyms:
            assert synonym in BROKER, prop.name


@pytest.mark.parametrize(
    "name",
    [
        "zookeeper.connect",
        "confluent.balancer.enable",
        "num.partition",
        "listener.name.a.num.network.threads",
    ],
)
def test_a_name_without_a_meaning_here_is_skipped_in_a_file(name: str) -> None:
    assert is_skipped(name)


@pytest.mark.parametrize(
    "name",
    [
        "ssl.client.auth",
        "penstock.admin.listner",
        "ssl.client.auht",
        "super.user",
        "listener.name.outside.ssl.client.auht",
        "listener.name.outside.plain.sasl.jaas.confg",
    ],
)
def test_known_settings_and_near_misses_of_security_settings_are_not_skipped(name: str) -> None:
    assert not is_skipped(name)
