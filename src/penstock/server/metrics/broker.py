"""The counts of one broker, where those who count and those who scrape find them."""

from collections.abc import Callable, Mapping

from penstock.observability.exposition import Histogram
from penstock.observability.loop_lag import LoopLag
from penstock.security.identity_counts import IdentityCounts
from penstock.server.metrics.requests import RequestCounts


class BrokerMetrics:
    __slots__ = ("connection_count", "flush_seconds", "identity", "loop_lag", "requests")

    def __init__(self, flush_seconds: Histogram) -> None:
        self.requests = RequestCounts()
        self.loop_lag = LoopLag()
        self.flush_seconds = flush_seconds
        self.connection_count: Callable[[], int] = lambda: 0
        self.identity: Mapping[str, IdentityCounts] = {}  # of the listeners that ask who somebody is
