"""Request metrics by API: count, size and duration."""

import msgspec

from penstock.observability.exposition import Histogram

# A produce answers when its disk has synced, a long poll may wait half a second: both ends of this matter.
_BOUNDS_SECONDS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    10.0,
)


class ApiCounts(msgspec.Struct, eq=False):
    """The counts of one API; plain numbers, which the dispatcher increments with each response."""

    name: str
    request_bytes: int = 0
    response_bytes: int = 0
    seconds: Histogram = msgspec.field(default_factory=lambda: Histogram(_BOUNDS_SECONDS))


class RequestCounts(msgspec.Struct, eq=False):
    """The counts of one broker."""

    by_api: dict[str, ApiCounts] = msgspec.field(default_factory=dict)
    protocol_errors: int = 0
    unexpected_errors: int = 0

    def of(self, api: str) -> ApiCounts:
        counts = self.by_api.get(api)
        if counts is None:
            counts = self.by_api[api] = ApiCounts(api)
        return counts
