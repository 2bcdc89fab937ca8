"""Connection limits of the admin port, with a reserve for health checks and metrics.

There is a limit for all connections and one for each address. A connection above either of them goes to the reserve: it
may send one request for health or metrics, and anything else is answered with 503. So a client that opens too many
connections does not make a broker look dead. When the reserve is full too, its oldest silent connection is closed.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final, cast

from penstock.observability.log_limiter import LogLimiter
from penstock.runtime.clock import Clock

log = logging.getLogger(__name__)

RESERVED_PATHS: Final = frozenset({b"/healthz", b"/readyz", b"/metrics"})
_METHODS: Final = (b"GET", b"HEAD")
_RESERVE_MAX: Final = 64
_RESERVED_S_MAX: Final = 10.0
_REQUEST_LINE_BYTES_MAX: Final = 1024
_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    b"Content-Length: %d\r\n\r\n%b"
)


class Admission:
    def __init__(self, clock: Clock, *, total_max: int, per_address_max: int) -> None:
        self._total_max = total_max
        self._per_address_max = per_address_max
        self._refusals = LogLimiter(clock)
        self._admitted: Counter[str] = Counter()
        self._admitted_count = 0
        self._reserve: dict[Visitor, None] = {}  # in the order of arrival

    def has_reserved(self, handler: asyncio.BaseProtocol) -> bool:
        return any(each.handler is handler for each in self._reserve)

    def take(self, visitor: "Visitor") -> str | None:
        """Count a connection and return None, or return the limit that it exceeds."""
        if self._admitted_count >= self._total_max:
            return f"there are {self._total_max} connections already"
        if self._admitted[visitor.address] >= self._per_address_max:
            return (
                f"it has {self._per_address_max} connections already (penstock.admin.max.connections.per.ip)"
            )
        self._admitted[visitor.address] += 1
        self._admitted_count += 1
        return None

    def reserve(self, visitor: "Visitor", reason: str) -> None:
        if times := self._refusals.times((visitor.address, reason)):
            again = "" if times == 1 else f" ({times} connections in the last minute)"
            log.warning(
                "Admin port serves only health and metrics to %s: %s%s",
                visitor.address,
                reason,
                again,
            )
        if len(self._reserve) >= _RESERVE_MAX:
            oldest = next(iter(self._reserve))
            silent = next((each for each in self._reserve if each.handler is None), oldest)
            del self._reserve[silent]
            silent.abort()
        self._reserve[visitor] = None

    def leave(self, visitor: "Visitor") -> None:
        if visitor.reason is not None:
            self._reserve.pop(visitor, None)
            return
        self._admitted_count -= 1
        self._admitted[visitor.address] -= 1
        if not self._admitted[visitor.address]:
            del self._admitted[visitor.address]


class Visitor(asyncio.Protocol):
    """One connection: counted, and forwarded to an HTTP handler when it is to be served."""

    def __init__(self, admission: Admission, make_handler: Callable[[], asyncio.Protocol]) -> None:
        self.handler: asyncio.Protocol | None = None
        self.reason: str | None = None  # why it is in the reserve
        self.address = ""
        self._admission = admission
        self._make_handler = make_handler
        self._received = b""
        self._deadline: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is not registered as one
        self.address = str((transport.get_extra_info("peername") or ("",))[0])
        self.reason = self._admission.take(self)
        if self.reason is None:
            self._serve()
            return
        self._admission.reserve(self, self.reason)
        self._deadline = asyncio.get_running_loop().call_later(_RESERVED_S_MAX, self.abort)

    def data_received(self, data: bytes) -> None:
        if self.handler is not None:
            self.handler.data_received(data)
            return
        self._received += data
        line, end, _ = self._received.partition(b"\r\n")
        if not end and len(line) < _REQUEST_LINE_BYTES_MAX:
            return
        method, _, rest = line.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method in _METHODS and path in RESERVED_PATHS:
            self._serve().data_received(self._received)
        else:
            body = f"This port serves {self.address} only health and metrics: {self.reason}.\n".encode()
            self._transport.write(_FULL % (len(body), body))
            self._transport.close()

    def _serve(self) -> asyncio.Protocol:
        self.handler = self._make_handler()
        self.handler.connection_made(self._transport)
        return self.handler

    def abort(self) -> None:
        self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        if self.handler is not None:
            self.handler.connection_lost(exc)
        self._admission.leave(self)

    def eof_received(self) -> bool | None:
        return None if self.handler is None else self.handler.eof_received()

    def pause_writing(self) -> None:
        if self.handler is not None:
            self.handler.pause_writing()

    def resume_writing(self) -> None:
        if self.handler is not None:
            self.handler.resume_writing()
