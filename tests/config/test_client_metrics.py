import pytest

from penstock.config.client_metrics import parse_subscription
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
def test_clients_are_chosen_by_patterns(pattern: str, chosen: str, not_chosen: str) -> None:
    subscription = parse_subscription({"match": f"client_id={pattern}"})
    assert subscription.chooses({"client_id": chosen})
    assert not subscription.chooses({"client_id": not_chosen})


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(a|a)*b",
        "(a|aa){1}b",
        "(a)?b",
        "a*a*a*a*b",
        "a?a?a?a?aaaa",
        "(a|a)(a|a)(a|a)(a|a)b",
        "((a|a)|(a|a))b",
        "a**",
        r"(a)\1",
        "(?=a*)b",
        "(unfinished",
    ],
)
def test_patterns_that_could_keep_a_broker_busy_are_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="Illegal client matching pattern"):
        parse_subscription({"match": f"client_id={pattern}"})


def test_of_long_names_a_pattern_sees_the_beginning() -> None:
    subscription = parse_subscription({"match": "client_id=a.*z"})
    assert not subscription.chooses({"client_id": "a" * 100_000 + "z"})
    assert parse_subscription({"match": "client_id=a.*"}).chooses({"client_id": "a" * 100_000})
