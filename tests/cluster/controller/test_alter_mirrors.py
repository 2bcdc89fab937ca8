import pytest

from penstock.cluster.controller.alter_mirrors import DELETED, client_settings, mirror_records, topic_filter
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import MirrorState
from tests.cluster.controller.mirror_stage import SETTINGS, change, follow, image_with_mirror, state_of, there
from tests.cluster.support import image_of


def refusal_of(image: MetadataImage, name: str = "m", **settings: str | None) -> str:
    given = {key.replace("_", "."): value for key, value in settings.items()}
    with pytest.raises(Refusal) as refused:
        mirror_records(image, name, given)
    return refused.value.message


def test_a_new_mirror_is_checked_before_it_copies() -> None:
    assert state_of(image_with_mirror()) is MirrorState.CHECKING


def test_a_mirror_is_paused_resumed_and_promoted() -> None:
    image = image_with_mirror()
    follow(image, there())
    for state in ("paused", "running", "promoting", "running", "paused", "promoting", "forcing"):
        change(image, state=state)
        assert state_of(image).value == state
    assert "is forcing and cannot become running" in refusal_of(image, state="running")


def test_a_mirror_whose_source_is_not_known_yet_is_checked_after_a_pause() -> None:
    image = image_with_mirror()
    change(image, state="paused")
    change(image, state="running")
    assert state_of(image) is MirrorState.CHECKING


def test_only_a_mirror_with_topics_is_promoted() -> None:
    image = image_with_mirror()
    follow(image)
    assert refusal_of(image, state="promoting") == "Mirror m has no topics to promote."


def test_a_mirror_that_writes_topics_is_not_deleted() -> None:
    image = image_with_mirror()
    follow(image, there())
    assert "still writes 1 topic(s), orders among them" in refusal_of(image, state=DELETED)


def test_nothing_of_a_deleted_mirror_is_left() -> None:
    image = image_with_mirror()
    follow(image)
    change(image, state=DELETED)
    assert not image.configs
    assert refusal_of(image, state=DELETED) == "There is no mirror m."


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"topics": ""}, "needs the setting topics"),
        ({"topics": "a("}, "The topics of mirror m: "),
        ({"bootstrap.servers": ""}, "needs the setting bootstrap.servers"),
        ({"bootstrap.servers": "host:port"}, "is not host:port"),
        ({"client.properties": "security.protocol=SASL_SSL"}, "sasl.mechanism is missing"),
        ({"throttle.bytes.per.second": "-1"}, "must not be negative"),
        ({"throttle.bytes.per.second": "fast"}, "The settings of mirror m"),
        ({"source.cluster.id": "x"}, "cannot be changed"),
        ({"state": "promoted"}, "There is no mirror m."),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        mirror_records(image_of(brokers=1), "m", {**SETTINGS, **settings})
    assert reason in refused.value.message


def test_a_mirror_needs_a_name_like_a_topics() -> None:
    assert refusal_of(image_of(brokers=1), "a/b", topics="x").startswith("Mirror name is invalid")


def test_a_running_mirror_gets_no_state_that_only_the_controller_sets() -> None:
    image = image_with_mirror()
    follow(image, there())
    assert refusal_of(image, state="promoted") == "A mirror cannot be set to the state promoted."


def test_the_pattern_is_a_list_of_whole_names() -> None:
    mirror = image_with_mirror(settings={**SETTINGS, "topics": "orders.*, pay"}).mirror("m")
    assert mirror is not None
    matches = topic_filter(mirror)
    assert [name for name in ("orders", "orders-1", "my-orders", "pay", "payments") if matches(name)] == [
        "orders",
        "orders-1",
        "pay",
    ]


def test_the_client_settings_are_kafkas_properties_with_the_servers_of_the_mirror() -> None:
    properties = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=u\nsasl.password=p\n"
    mirror = image_with_mirror(settings={**SETTINGS, "client.properties": properties}).mirror("m")
    assert mirror is not None
    settings = client_settings(mirror)
    assert settings.bootstrap_servers == (("kafka", 9092),)
    assert settings.sasl is not None
    assert settings.sasl.username == "u"
