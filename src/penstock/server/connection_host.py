"""What the connections of one broker share, and what they must know of each other and of the layers above."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from penstock.observability.clock import Clock
from penstock.observability.completion import Reply
from penstock.observability.seldom import Seldom
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.sasl.cluster import ServerProof
from penstock.server.listener_security import ListenerSecurity
from penstock.server.memory import MemoryBudget
from penstock.server.metrics.requests import RequestCounts
from penstock.server.read_turns import ReadTurns

if TYPE_CHECKING:  # most brokers ask nobody who they are, and need not load what it takes
    from penstock.security.sasl.login import Login

Buffer = bytes | bytearray | memoryview
Answer = Sequence[Buffer]  # an empty answer sends nothing (Produce with acks=0)

_SHARED_BUFFER_BYTES = 256 * 1024
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
_KIND_CHARACTERS = 24

log = logging.getLogger(__name__)


class CloseConnection(Exception):
    """Raised by dispatch when a request leaves no way to go on; the message is the reason that is logged."""


class Farewell(CloseConnection):
    """The last answer of a connection that is closed with it."""

    def __init__(self, reason: str, answer: "Answer") -> None:
        super().__init__(reason)
        self.answer = answer


class Dispatch(Protocol):
    """What a connection needs of the layer above."""

    def dispatch(self, frame: bytearray, peer: "Peer") -> Answer | Reply[Answer]: ...


class Peer:
    """Who is on the other side. Handlers keep what a connection must remember here."""

    __slots__ = (
        "brokers",
        "has_proved",
        "host",
        "is_forwarded",
        "is_leaving",
        "listener",
        "login",
        "long_polls",
        "mute",
        "on_leave",
        "port",
        "principal",
        "proof",
        "software_name",
        "software_version",
        "turns",
    )

    def __init__(self, listener: str, host: str, port: int) -> None:
        self.listener = listener
        self.host = host
        self.port = port
        self.principal = ANONYMOUS  # until a certificate or a login says who it is
        self.login: Login | None = None  # where the listener asks for one
        self.brokers: Collection[Principal] = ()  # who is a broker of this cluster on this listener
        self.proof: ServerProof | None = None  # under way
        self.has_proved = False  # that it knows the secret of this cluster
        self.is_forwarded = False  # whether another broker passes its requests on
        self.software_name = "unknown"  # until it says so in ApiVersions (KIP-511)
        self.software_version = "unknown"
        self.is_leaving = False  # nobody waits for news any more: answer with what there is
        self.long_polls: set[asyncio.Future[None]] = set()
        self.turns = ReadTurns()
        self.mute: Callable[[float], None] = _not_muted
        """Read nothing more of the connection for so many milliseconds: it has exceeded a quota."""

        self.on_leave: Callable[[], None] = _nobody_cares
        """Told when the connection is ending, maybe more than once."""

    @property
    def is_broker(self) -> bool:
        """Whether it is a member of this cluster: it may do what brokers do, and needs no other permission."""
        return self.has_proved or self.principal in self.brokers

    def leave(self) -> None:
        """The connection is ending: end its long polls now."""
        self.is_leaving = True
        self.on_leave()
        for poll in self.long_polls:
            poll.cancel()

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def _not_muted(_wait_ms: float) -> None:
    """What is not a connection of its own, like a forwarded request, waits by itself."""


def _nobody_cares() -> None:
    """Most connections come and go."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one connection, and of all."""

    frame_bytes_max: int
    in_flight_max: int
    in_flight_bytes_max: int
    connections_max: int
    connections_per_host_max: int
    connections_of_hosts_max: Mapping[str, int] = {}


class Tracked(Protocol):
    """What the broker needs of every connection, whatever it speaks: to count, sweep and stop it."""

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
    """Those of one broker, in the order in which they came: a simulation goes through them in the same one again."""

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
    """A connection that speaks something else; it leaves the host's connections when it is lost."""


# Another dialect on the same port, chosen by the first byte: given the transport and the bytes read so far.
Dialect = Callable[["ConnectionHost", asyncio.Transport, Peer, bytes], DialectConnection]


class ConnectionHost:
    """What all connections of one broker share."""

    __slots__ = (
        "_seldom",
        "clock",
        "connection_wait",
        "connections",
        "counts",
        "dialects",
        "dispatcher",
        "limits",
        "memory",
        "receive_buffer",
        "receive_view",
        "security",
    )

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
    ) -> None:
        """`security` is what listeners ask of those who connect, by name; those with PLAINTEXT are not in it.

        `connection_wait` tells how many milliseconds an address that connects now must wait, and whether it is closed
        after that.
        """
        self.dispatcher = dispatcher
        self.security: Mapping[str, ListenerSecurity] = {} if security is None else security
        self.limits = limits
        self.clock = clock
        self._seldom = Seldom(clock)
        self.dialects = dialects or {}
        self.counts = counts
        self.memory = memory
        self.connection_wait = connection_wait
        self.connections = Connections() if connections is None else connections
        self.receive_buffer = bytearray(_SHARED_BUFFER_BYTES)
        self.receive_view = memoryview(self.receive_buffer)

    def tell_closing(self, peer: Peer, reason: str) -> None:
        """Say why a connection is closed: once in a while for each address and kind of reason, or an attacker could
        fill the log.
        """
        times = self._seldom.times((peer.host, reason.translate(_WITHOUT_DIGITS)[:_KIND_CHARACTERS]))
        again = "" if times <= 1 else f" ({times} times since this was told last)"
        level = logging.WARNING if times else logging.DEBUG
        log.log(level, "closing the connection of %s: %s%s", peer, reason, again)

    def log_failure(self, peer: Peer, error: BaseException) -> None:
        """A bug, with its traceback: once in a while for each place it comes from, or a client could fill the log."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = None if trace is None else (trace.tb_frame.f_code, trace.tb_lineno)
        if times := self._seldom.times((type(error), place)):
            again = "" if times == 1 else f" ({times} times since this was logged last)"
            log.error("Unhandled error in a request of %s%s", peer, again, exc_info=error)

    def admits(self, peer_host: str) -> str | None:
        """Why the newest connection, already counted, is one too many; None when it is not."""
        if len(self.connections) > self.limits.connections_max:
            return f"there are {self.limits.connections_max} connections already (max.connections)"
        limits = self.limits
        per_host_max = limits.connections_of_hosts_max.get(peer_host, limits.connections_per_host_max)
        if len(self.connections) > per_host_max:
            count = sum(1 for c in self.connections if c.peer.host == peer_host)
            if count > per_host_max:
                return f"it has {per_host_max} connections already (max.connections.per.ip)"
        return None
