"""Options as a person wrote them."""

import pickle

import pytest

from penstock.spark.options import OptionError, Options


def test_names_are_found_in_any_case() -> None:
    options = Options({"startingoffsets": "earliest", "MinPartitions": "3"})
    assert options.text("startingOffsets") == "earliest"
    assert options.integer("minPartitions") == 3
    assert options.text("endingOffsets") is None
    assert not options.is_given("assign")


@pytest.mark.parametrize(("text", "value"), [("true", True), (" FALSE ", False), ("True", True)])
def test_true_and_false_are_read(text: str, value: bool) -> None:
    assert Options({"includeHeaders": text}).boolean("includeHeaders", default=not value) is value


def test_a_wrong_value_is_refused_with_the_options_own_spelling() -> None:
    with pytest.raises(OptionError, match="failOnDataLoss must be true or false, not 'maybe'"):
        Options({"failondataloss": "maybe"}).boolean("failOnDataLoss", default=True)
    with pytest.raises(OptionError, match=r"minPartitions must be a whole number, not '1\.5'"):
        Options({"minpartitions": "1.5"}).integer("minPartitions")
    with pytest.raises(OptionError, match="minPartitions must be at least 1, not 0"):
        Options({"minpartitions": "0"}).integer("minPartitions")


def test_what_stands_under_kafka_goes_to_the_client() -> None:
    options = Options({"kafka.bootstrap.servers": "a:1", "kafka.client.id": "me", "subscribe": "t"})
    assert options.kafka_properties() == {"bootstrap.servers": "a:1", "client.id": "me"}
    assert options.client_settings().client_id == "me"


def test_the_brokers_must_be_named_and_a_wrong_property_is_named_in_full() -> None:
    with pytest.raises(OptionError, match=r"option kafka\.bootstrap\.servers must be set"):
        Options({"subscribe": "t"}).client_settings()
    with pytest.raises(OptionError, match=r"option kafka\.request\.timeout\.ms must be a number"):
        Options({"kafka.bootstrap.servers": "a:1", "kafka.request.timeout.ms": "x"}).client_settings()


def test_a_refused_property_comes_with_what_to_do_instead() -> None:
    options = Options({"kafka.bootstrap.servers": "a:1", "kafka.auto.offset.reset": "earliest"})
    with pytest.raises(
        OptionError, match=r"kafka\.auto\.offset\.reset is not supported: set startingOffsets"
    ):
        options.client_settings({"auto.offset.reset": "set startingOffsets"})


def test_options_travel_between_processes() -> None:
    assert pickle.loads(pickle.dumps(Options({"A": "1"}))).text("a") == "1"
