"""A subscription to metrics of clients (KIP-714), made of its settings.

What its patterns are matched with is chosen by clients, and Python's matcher tries every way to match: a pattern such
as `(a+)+b` would keep a broker busy for ever. So a pattern may have few places with a choice, none of them within
another, and it sees the beginning of long texts only.
"""

import re
from collections.abc import Mapping

import msgspec

from penstock.config.property import ConfigError, split_list
from penstock.config.table import CLIENT_METRICS
from penstock.config.themes.client_metrics import INTERVAL_MS, INTERVAL_MS_DEFAULT, MATCH, MATCHED, METRICS

_CHOICES_MAX = 3
_SEEN_CHARACTERS_MAX = 128
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)  # an escape, or a class of characters
_REFUSED = re.compile(r"\)[*+?{]|\(\?(?!:)|[*+?}][*+?{]")  # of a group, not a plain group, of a repetition
_CHOICE = re.compile(r"[*+{]|(?<!\()\?|\([^()]*\|")


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, re.Pattern[str]]

    def chooses(self, facts: Mapping[str, str]) -> bool:
        """Whether it is about a client with these properties."""
        return all(
            pattern.fullmatch(facts.get(name, "")[:_SEEN_CHARACTERS_MAX])
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


def _pattern(item: str) -> tuple[str, re.Pattern[str]]:
    name, equals, pattern = item.partition("=")
    if equals and name.strip() in MATCHED and _is_quick(pattern):
        try:
            return name.strip(), re.compile(pattern.strip())
        except re.error:
            pass
    raise ConfigError(
        f"Illegal client matching pattern: {item} (a regular expression of one of {', '.join(MATCHED)}, with at most "
        f"{_CHOICES_MAX} of * + ? {{ }} and groups of alternatives, and none of them within or after another)"
    )


def _is_quick(pattern: str) -> bool:
    """Whether it is matched with any text in a time that does not explode."""
    if re.search(r"\\[0-9]", pattern):  # what a group has matched before
        return False
    plain = _ATOM.sub("x", pattern)
    return (
        not _REFUSED.search(plain)
        and len(_CHOICE.findall(plain)) <= _CHOICES_MAX
        and not re.search(r"\([^()]*\(", plain)  # alternatives within alternatives multiply
    )
