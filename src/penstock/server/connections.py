"""The connections of one broker: their peers, their limits, and the context that they share."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from penstock.observability.log_limiter import LogLimiter
from penstock.runtime.clock import Clock
from penstock.runtime.completion import Reply
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.sasl.cluster import ServerProof
from penstock.server.listener_security import ListenerSecurity
from penstock.server.memory import MemoryBudget
from penstock.server.read_gate import ReadGate
from penstock.server.request_metrics import RequestCounts

if TYPE_CHECKING:  # loaded only by brokers with authentication
    from penstock.security.sasl.login import Login

Buffer = bytes | bytearray | memoryview
Answer = Sequence[Buffer]  # an empty answer sends nothing (Produce with acks=0)

_SHARED_BUFFER_BYTES = 256 * 1024
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
_KIND_CHARACTERS = 24

log = logging.getLogger(__name__)


class CloseConnection(Exception):
    """Closes the connection of a request; the message is the reason in the log."""


class CloseAfterResponse(CloseConnection):
    """Closes a connection after a last response."""

    def __init__(self, reason: str, answer: "Answer") -> None:
        super().__init__(reason)
        self.answer = answer


class Dispatch(Protocol):
    """Answers one request."""

    def dispatch(self, frame: bytearray, peer: "Peer") -> Answer | Reply[Answer]: ...


def _no_mute(_wait_ms: float) -> None:
    """For peers without a connection, such as the peers of forwarded requests."""


def _trust_nobody(_peer: "Peer") -> bool:
    """Outside a mixed cluster."""
    return False


def _ignore() -> None:
    """For connections without a callback."""


class Peer(msgspec.Struct, eq=False):
    """The other side of a connection, with the state that handlers keep for it."""

    listener: str
    host: str
    port: int
    principal: Principal = ANONYMOUS  # until a certificate or a login names it
    login: "Login | None" = None  # on listeners with SASL
    brokers: Collection[Principal] = ()  # the principals of brokers on this listener
    proof: ServerProof | None = None  # under way
    has_proved: bool = False  # it knows the secret of this cluster
    trust: "Callable[[Peer], bool]" = _trust_nobody
    """Whether it counts as a broker while nodes of Apache Kafka are in the cluster (ADR 23)."""
    is_forwarded: bool = False  # another broker forwards its requests
    software_name: str = "unknown"  # until ApiVersions names it (KIP-511)
    software_version: str = "unknown"
    is_disconnecting: bool = False  # long polls end and answer with the records read so far
    long_polls: "set[asyncio.Future[None]]" = msgspec.field(default_factory=set)
    turns: ReadGate = msgspec.field(default_factory=ReadGate)
    mute: Callable[[float], None] = _no_mute
    """Stops reading from the connection for some milliseconds, after it exceeded a quota."""
    on_disconnect: Callable[[], None] = _ignore
    """Called when the connection ends, possibly more than once."""

    @property
    def is_broker(self) -> bool:
        """Whether it is a broker of this cluster, which needs no other permission."""
        return self.has_proved or self.principal in self.brokers or self.trust(self)

    def disconnecting(self) -> None:
        """End the long polls of a connection that ends."""
        self.is_disconnecting = True
        self.on_disconnect()
        for poll in self.long_polls:
            poll.cancel()

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one connection and of all connections."""

    frame_bytes_max: int
    in_flight_max: int
    in_flight_bytes_max: int
    connections_max: int
    connections_per_host_max: int
    connections_of_hosts_max: Mapping[str, int] = {}


class Tracked(Protocol):
    """A connection in any protocol, as far as the broker counts, sweeps and stops it."""

    peer: Peer
    last_active_ms: float

    @property
    def is_waiting_for_answers(self) -> bool: ...

    def close(self, reason: str) -> None:
        """`reason` is logged, unless it is empty."""
        ...

    def abort(self) -> None: ...

    async def drain_and_close(self) -> None: ...


class Connections:
    """The connections of one broker in order of arrival, so that a simulation replays it."""

    __slots__ = ("_members",)

    def __init__(self) -> None:
        self._members: dict[Tracked, None] = {}

    def add(self, connection: Tracked) -> None:
        self._members[connection] = None

    def discard(self, connection: Tracked) -> None:
        self._members.pop(connection, None)

    def __contains__(self, connection: object) -> bool:
        return connection in self._members

    def __iter__(self) -> Iterator[Tracked]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


class DialectConnection(asyncio.Protocol, Tracked):
    """A connection in another protocol; it discards itself from the connections when it is lost."""


# Another protocol on the same port, chosen by the first byte. Called with the transport and the bytes read so far.
Dialect = Callable[["ConnectionContext", asyncio.Transport, Peer, bytes], DialectConnection]


class ConnectionContext:
    """The state that all connections of one broker share."""

    def __init__(
        self,
        dispatcher: Dispatch,
        limits: Limits,
        clock: Clock,
        *,
        counts: RequestCounts,
        memory: MemoryBudget,
        connections: Connections | None = None,
        dialects: Mapping[int, Dialect] | None = None,
        security: Mapping[str, ListenerSecurity] | None = None,
        connection_wait: Callable[[str], tuple[float, bool]] = lambda _host: (0.0, False),
        trust: Callable[[Peer], bool] = _trust_nobody,
    ) -> None:
        """`security` has the requirements of the listeners that are not PLAINTEXT, by name.

        `connection_wait` returns how many milliseconds a new connection of an address is throttled, and whether it is
        closed after that.
        """
        self.dispatcher = dispatcher
        self.security: Mapping[str, ListenerSecurity] = {} if security is None else security
        self.limits = limits
        self.clock = clock
        self._log_limiter = LogLimiter(clock)
        self.dialects = dialects or {}
        self.counts = counts
        self.memory = memory
        self.connection_wait = connection_wait
        self.trust = trust
        self.connections = Connections() if connections is None else connections
        self.receive_buffer = bytearray(_SHARED_BUFFER_BYTES)
        self.receive_view = memoryview(self.receive_buffer)

    def log_closing(self, peer: Peer, reason: str) -> None:
        """Log why a connection is closed, rate-limited by address and kind of reason: clients must not fill the log."""
        times = self._log_limiter.times((peer.host, reason.translate(_WITHOUT_DIGITS)[:_KIND_CHARACTERS]))
        again = "" if times <= 1 else f" ({times} times since this was logged last)"
        level = logging.WARNING if times else logging.DEBUG
        log.log(level, "Closed a connection: %s%s. peer=%s listener=%s", reason, again, peer, peer.listener)

    def log_failure(self, peer: Peer, error: BaseException) -> None:
        """Log a bug with its traceback, rate-limited by its place in the code: clients must not fill the log."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = None if trace is None else (trace.tb_frame.f_code, trace.tb_lineno)
        if times := self._log_limiter.times((type(error), place)):
            again = "" if times == 1 else f" ({times} times since this was logged last)"
            log.error("Unhandled error in a request%s. peer=%s", again, peer, exc_info=error)

    def admits(self, peer_host: str) -> str | None:
        """Return why the newest connection, which is counted already, exceeds a limit; None when it does not."""
        if len(self.connections) > self.limits.connections_max:
            return f"there are {self.limits.connections_max} connections already (max.connections)"
        limits = self.limits
        per_host_max = limits.connections_of_hosts_max.get(peer_host, limits.connections_per_host_max)
        if len(self.connections) > per_host_max:
            count = sum(1 for c in self.connections if c.peer.host == peer_host)
            if count > per_host_max:
                return f"it has {per_host_max} connections already (max.connections.per.ip)"
        return None
