"""What is counted of requests: how many, how large, how long they took, by API."""

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


class ApiCounts:
    """Of one API; plain numbers, which the dispatcher adds to with each answer."""

    __slots__ = ("name", "request_bytes", "response_bytes", "seconds")

    def __init__(self, name: str) -> None:
        self.name = name
        self.request_bytes = 0
        self.response_bytes = 0
        self.seconds = Histogram(_BOUNDS_SECONDS)


class RequestCounts:
    """Of one broker."""

    __slots__ = ("by_api", "protocol_errors", "unexpected_errors")

    def __init__(self) -> None:
        self.by_api: dict[str, ApiCounts] = {}
        self.protocol_errors = 0
        self.unexpected_errors = 0

    def of(self, api: str) -> ApiCounts:
        counts = self.by_api.get(api)
        if counts is None:
            counts = self.by_api[api] = ApiCounts(api)
        return counts
