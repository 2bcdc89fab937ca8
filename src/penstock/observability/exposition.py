"""Prometheus' text format (version 0.0.4), written from plain values. Prometheus' own library locks and hashes labels
at each increment. Here every part counts with its own ints, and a scrape reads all of them; only this module knows the
format.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Kind = Literal["counter", "gauge", "histogram"]
Labels = Mapping[str, str]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's name, description and type. A counter's name ends in `_total`."""

    name: str
    kind: Kind
    help: str


class Histogram:
    """Counts of values below each bound; `observe` is cheap enough for every request."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self.counts)


def head(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {_escaped(family.help, quote=False)}\n"
    yield f"# TYPE {family.name} {family.kind}\n"


def sample(family: Family, value: float, labels: Labels | None = None) -> str:
    return f"{family.name}{_labels(labels)} {_number(value)}\n"


def histogram_samples(family: Family, histogram: Histogram, labels: Labels | None = None) -> Iterator[str]:
    """All buckets, cumulative as the format wants them, then the sum and the count."""
    labels = labels or {}
    seen = 0
    for bound, count in zip((*histogram.bounds, None), histogram.counts, strict=True):
        seen += count
        limit = "+Inf" if bound is None else _number(bound)
        yield f"{family.name}_bucket{_labels({**labels, 'le': limit})} {seen}\n"
    yield f"{family.name}_sum{_labels(labels)} {_number(histogram.total)}\n"
    yield f"{family.name}_count{_labels(labels)} {seen}\n"


def text(family: Family, samples: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    """One family whole."""
    yield from head(family)
    for labels, value in samples:
        yield sample(family, value, labels)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.16g}"


def _labels(labels: Labels | None) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value, quote=True)}"' for name, value in labels.items()) + "}"


def _escaped(value: str, *, quote: bool) -> str:
    value = value.replace("\\", "\\\\").replace("\n", "\\n")
    return value.replace('"', '\\"') if quote else value
