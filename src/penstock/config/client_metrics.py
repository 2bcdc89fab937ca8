"""A subscription to metrics of clients (KIP-714), made of its settings."""

import re
from collections.abc import Mapping

import msgspec

from penstock.config.property import ConfigError, split_list
from penstock.config.table import CLIENT_METRICS
from penstock.config.themes.client_metrics import INTERVAL_MS, INTERVAL_MS_DEFAULT, MATCH, MATCHED, METRICS


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, re.Pattern[str]]

    def chooses(self, facts: Mapping[str, str]) -> bool:
        """Whether it is about a client with these properties."""
        return all(pattern.fullmatch(facts.get(name, "")) for name, pattern in self.patterns.items())


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


def _pattern(item: str) -> tuple[str, re.Pattern[str]]:
    name, equals, pattern = item.partition("=")
    if equals and name.strip() in MATCHED:
        try:
            return name.strip(), re.compile(pattern.strip())
        except re.error:
            pass
    raise ConfigError(f"Illegal client matching pattern: {item}")
