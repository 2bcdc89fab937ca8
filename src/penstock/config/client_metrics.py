"""A subscription to metrics of clients (KIP-714), made of its settings.

What its patterns are matched with is chosen by clients: they see the beginning of long texts only.
"""

from collections.abc import Mapping

import msgspec

from penstock.config.patterns import InvalidPattern, Pattern
from penstock.config.property import ConfigError, split_list
from penstock.config.table import CLIENT_METRICS
from penstock.config.themes.client_metrics import INTERVAL_MS, INTERVAL_MS_DEFAULT, MATCH, MATCHED, METRICS

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


def parse_subscription(settings: Mapping[str, str]) -> Subscription:
    """Raises `ConfigError` when these settings cannot be those of a subscription."""
    for name, text in settings.items():
        if (prop := CLIENT_METRICS.get(name)) is None:
            raise ConfigError(f"Unknown client metrics configuration: {name}")
        prop.parse(text)
    return Subscription(
        metrics=tuple(split_list(settings.get(METRICS.name, ""))),
        interval_ms=int(settings.get(INTERVAL_MS.name, INTERVAL_MS_DEFAULT)),
        patterns=dict(map(_pattern, split_list(settings.get(MATCH.name, "")))),
    )


def _pattern(item: str) -> tuple[str, Pattern]:
    name, equals, pattern = item.partition("=")
    if not equals or name.strip() not in MATCHED:
        raise ConfigError(
            f"Illegal client matching pattern: {item} (write NAME=PATTERN, with one of {', '.join(MATCHED)})"
        )
    try:
        return name.strip(), Pattern(pattern.strip())
    except InvalidPattern as error:
        raise ConfigError(f"Illegal client matching pattern: {item} ({error})") from None
