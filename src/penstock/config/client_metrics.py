"""A subscription to metrics of clients (KIP-714), made of its settings.

What its patterns are matched with is chosen by clients: they see the beginning of long texts only.
"""

from collections.abc import Mapping

import msgspec

from penstock.config.patterns import InvalidPattern, Pattern
from penstock.config.property import ConfigError, split_list
from penstock.config.table import CLIENT_METRICS
from penstock.config.themes.client_metrics import (
    INTERVAL_MS,
    INTERVAL_MS_DEFAULT,
    INTERVAL_MS_MAX,
    INTERVAL_MS_MIN,
    MATCH,
    MATCHED,
    METRICS,
)

_SEEN_CHARACTERS_MAX = 128


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, Pattern]

    def chooses(self, facts: Mapping[str, str]) -> bool:
        """Whether it is about a client with these properties."""
        return all(
            pattern.matches(facts.get(name, "")[:_SEEN_CHARACTERS_MAX])
            for name, pattern in self.patterns.items()
        )


class UnfitSubscription(ConfigError):
    """Of these settings Kafka says INVALID_REQUEST, and INVALID_CONFIG of all others that cannot be."""


def parse_subscription(settings: Mapping[str, str]) -> Subscription:
    """Raises `ConfigError` when these settings cannot be those of a subscription. The words are Kafka's."""
    for name in settings:
        if name not in CLIENT_METRICS:
            raise UnfitSubscription(f"Unknown client metrics configuration: {name}")
    for name, text in settings.items():
        CLIENT_METRICS[name].parse(text)
    interval_ms = int(settings.get(INTERVAL_MS.name, INTERVAL_MS_DEFAULT))
    if not INTERVAL_MS_MIN <= interval_ms <= INTERVAL_MS_MAX:
        raise UnfitSubscription(
            f"Invalid value {interval_ms} for {INTERVAL_MS.name}, interval must be between "
            f"{INTERVAL_MS_MIN} and {INTERVAL_MS_MAX} (1 hour)"
        )
    return Subscription(
        metrics=tuple(split_list(settings.get(METRICS.name, ""))),
        interval_ms=interval_ms,
        patterns=dict(map(_pattern, split_list(settings.get(MATCH.name, "")))),
    )


def _pattern(item: str) -> tuple[str, Pattern]:
    parts = item.rstrip("=").split("=")
    if len(parts) != 2 or parts[0].strip() not in MATCHED:
        raise ConfigError(f"Illegal client matching pattern: {item}")
    try:
        return parts[0].strip(), Pattern(parts[1].strip())
    except InvalidPattern as error:
        raise ConfigError(f"Illegal client matching pattern: {item} ({error})") from None
