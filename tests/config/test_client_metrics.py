import pytest

from penstock.config.client_metrics import InvalidSubscription, parse_subscription
from penstock.config.property import ConfigError


@pytest.mark.parametrize(
    ("pattern", "chosen", "not_chosen"),
    [
        ("app-1", "app-1", "app-10"),
        ("app-.*", "app-", "an-app-1"),
        (r"10\.0\.[0-9]+\.[0-9]+", "10.0.1.22", "10x0.1.22"),
        ("(east|west)-(blue|green)-[0-9]{1}", "west-blue-7", "north-blue-7"),
        ("a|b|c|d|e|f.*", "f1", "g"),
        (r"[*+?(]\*\(a\+\)", "(*(a+)", "*(a+)"),
        ("(?:x)[a-z]", "xy", "x1"),
        (r"[]a]\[", "][", "b["),
    ],
)
def test_clients_are_selected_by_patterns(pattern: str, chosen: str, not_chosen: str) -> None:
    subscription = parse_subscription({"match": f"client_id={pattern}"})
    assert subscription.matches({"client_id": chosen})
    assert not subscription.matches({"client_id": not_chosen})


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a*)b", "(unfinished", "a**"])
def test_malformed_patterns_and_syntax_beyond_re2_are_refused_in_subscriptions(pattern: str) -> None:
    with pytest.raises(ConfigError, match="Illegal client matching pattern"):
        parse_subscription({"match": f"client_id={pattern}"})


@pytest.mark.parametrize("item", ["client_id", "color=red", "client_id=a=b", "client_id="])
def test_a_pattern_must_name_a_known_attribute_of_clients(item: str) -> None:
    with pytest.raises(ConfigError, match=f"^Illegal client matching pattern: {item}$"):
        parse_subscription({"match": item})


@pytest.mark.parametrize(
    ("settings", "message", "is_unfit"),
    [
        ({"nothing": "5", "interval.ms": "x"}, "Unknown client metrics configuration: nothing", True),
        (
            {"interval.ms": "x"},
            "Invalid value x for configuration interval.ms: Not a number of type INT",
            False,
        ),
        (
            {"interval.ms": "99", "match": "x"},
            "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
            True,
        ),
        (
            {"interval.ms": "3600001"},
            "Invalid value 3600001 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
            True,
        ),
    ],
)
def test_invalid_settings_are_refused_with_kafkas_messages(
    settings: dict[str, str], message: str, is_unfit: bool
) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_subscription(settings)
    assert (str(refused.value), isinstance(refused.value, InvalidSubscription)) == (message, is_unfit)


@pytest.mark.timeout(10)
def test_no_pattern_keeps_a_broker_busy() -> None:
    subscription = parse_subscription({"match": "client_id=(a+)+b"})
    assert not subscription.matches({"client_id": "a" * 30_000})


def test_a_pattern_matches_the_beginning_of_a_long_name() -> None:
    subscription = parse_subscription({"match": "client_id=a.*z"})
    assert not subscription.matches({"client_id": "a" * 100_000 + "z"})
    assert parse_subscription({"match": "client_id=a.*"}).matches({"client_id": "a" * 100_000})
