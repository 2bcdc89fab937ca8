"""The metrics of one broker, shared by the code that counts and the scrape."""

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
        """Counts by listener, for the listeners that authenticate clients."""
        return self._identity.counts
