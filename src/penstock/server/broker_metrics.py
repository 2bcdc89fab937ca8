"""The counts of one broker, where those who count and those who scrape find them."""

from collections.abc import Mapping, Sized

from penstock.observability.exposition import Histogram
from penstock.observability.loop_lag import LoopLag
from penstock.security.identity_counts import IdentityCounts
from penstock.server.identity import Identity
from penstock.server.request_metrics import RequestCounts


class BrokerMetrics:
    __slots__ = ("_identity", "connections", "flush_seconds", "loop_lag", "requests")

    def __init__(self, flush_seconds: Histogram, connections: Sized, identity: Identity) -> None:
        self.requests = RequestCounts()
        self.loop_lag = LoopLag()
        self.flush_seconds = flush_seconds
        self.connections = connections
        self._identity = identity

    @property
    def identity(self) -> Mapping[str, IdentityCounts]:
        """Of the listeners that ask who somebody is."""
        return self._identity.counts
