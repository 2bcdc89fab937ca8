"""A subscription to clients' metrics (KIP-714), parsed from its settings.

Clients choose the texts that its patterns match: only the beginning of a long text is matched.
"""

from collections.abc import Mapping

import msgspec

from penstock.config.patterns import InvalidPattern, Pattern
from penstock.config.property import ConfigError, split_list
from penstock.config.settings.client_metrics import (
    INTERVAL_MS,
    INTERVAL_MS_DEFAULT,
    INTERVAL_MS_MAX,
    INTERVAL_MS_MIN,
    MATCH,
    MATCHED,
    METRICS,
)
from penstock.config.table import CLIENT_METRICS

_SEEN_CHARACTERS_MAX = 128


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, Pattern]

    def matches(self, facts: Mapping[str, str]) -> bool:
        """Whether a client with these properties is subscribed."""
        return all(
            pattern.matches(facts.get(name, "")[:_SEEN_CHARACTERS_MAX])
            for name, pattern in self.patterns.items()
        )


class InvalidSubscription(ConfigError):
    """Kafka answers INVALID_REQUEST for this, and INVALID_CONFIG for other invalid settings."""


def parse_subscription(settings: Mapping[str, str]) -> Subscription:
    """Raises `ConfigError` for invalid settings. The texts are Kafka's."""
    for name in settings:
        if name not in CLIENT_METRICS:
            raise InvalidSubscription(f"Unknown client metrics configuration: {name}")
    for name, text in settings.items():
        CLIENT_METRICS[name].parse(text)
    interval_ms = int(settings.get(INTERVAL_MS.name, INTERVAL_MS_DEFAULT))
    if not INTERVAL_MS_MIN <= interval_ms <= INTERVAL_MS_MAX:
        raise InvalidSubscription(
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
