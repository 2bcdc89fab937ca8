"""The short way of a small Produce through a broker under load.

A request for one batch, while the partition's disk is busy, does not take what a request is made of on its way to a
handler and back: the batch is checked and gathered, and its answer is written when it is told where it is stored
(docs/adr/0017-gathered-appends.md). Most of them begin as the one before, and are not even read. Whatever is not as
usual goes the long way, which finds out what to say.
"""

import logging
from typing import Final

from penstock.cluster.gathered import GATHERED_BYTES_MAX, GatheredAppend
from penstock.cluster.replica import Replica
from penstock.cluster.topic_names import INTERNAL_TOPICS
from penstock.observability.clock import Clock
from penstock.observability.completion import Reply
from penstock.protocol.records.batch import ATTRIBUTES_POSITION, HEADER_SIZE, TRANSACTIONAL_FLAG
from penstock.protocol.records.rules import CheckElsewhere
from penstock.protocol.repeated_produce import ProduceHead
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.server.connection_host import Answer, Peer
from penstock.server.context import Services
from penstock.server.produce_answers import failed, rejected
from penstock.server.route import Route
from penstock.storage.log_errors import AppendRejected, LogError

_requests_log = logging.getLogger("penstock.server.dispatch")  # which tells every request, if anybody listens
_ACKS_GATHERED: Final = (-1, 1)
_FLAGS_POSITION: Final = ATTRIBUTES_POSITION + 1  # the low byte


def gather(  # noqa: PLR0917  names are paid for at each call
    services: Services, route: Route, head: ProduceHead, records: memoryview, frame: bytearray, peer: Peer
) -> Reply[Answer] | None:
    """Append the batch together with what others send now; None, with nothing done, if it must go the long way.

    That is where whatever takes more than a look is decided: transactions, internal topics, quotas, batches that are
    checked on a thread.
    """
    replicas = services.replicas
    leader = (
        replicas.leader_of(head.name, head.index)
        if head.name
        else replicas.leader_by_id(head.topic_id, head.index)
    )
    if (
        not isinstance(leader, Replica)
        or not leader.is_gathering
        or not HEADER_SIZE <= len(records) <= GATHERED_BYTES_MAX
        or records[_FLAGS_POSITION] & TRANSACTIONAL_FLAG
        or head.acks not in _ACKS_GATHERED
        or leader.topic in INTERNAL_TOPICS
        or services.quotas.is_active
        or _requests_log.isEnabledFor(logging.DEBUG)
        or (services.authorizer.is_enforcing and not _may_write(services, peer, leader.topic))
    ):
        return None
    produce = GatheredProduce(leader, head, frame, route, services.clock)
    try:
        batch = leader.log.prepare(records, services.clock.now_ms())
    except CheckElsewhere:
        return None
    except AppendRejected as error:
        produce.told(error)
        return produce
    produce.batch = batch
    produce.size_bytes = len(records)
    leader.gather(produce)
    return produce


def _may_write(services: Services, peer: Peer, topic: str) -> bool:
    return services.authorizer.allows(peer.principal, peer.host, Operation.WRITE, ResourceType.TOPIC, topic)


class GatheredProduce(GatheredAppend):
    """The answer of one such request, when it comes."""

    __slots__ = ("_began_ms", "_clock", "_frame", "_leader", "_route", "head")

    def __init__(
        self, leader: Replica, head: ProduceHead, frame: bytearray, route: Route, clock: Clock
    ) -> None:
        super().__init__()
        self._leader = leader
        self.head = head
        self._frame = frame
        self._route = route
        self._clock = clock
        self._began_ms = clock.monotonic_ms()

    def told(self, error: LogError | None) -> None:
        try:
            answer = self._answer() if error is None else self._refusal(error)
        except Exception as mistake:  # noqa: BLE001  others are told after this one
            self.fail(mistake)
            return
        self._route.counts.answered(
            len(self._frame), len(answer[0]), self._clock.monotonic_ms() - self._began_ms
        )
        self.resolve(answer)

    def _answer(self) -> Answer:
        stored = self.appended
        assert stored is not None
        return (
            self.head.answer(
                self._frame, stored.base_offset, stored.log_append_time_ms, stored.log_start_offset
            ),
        )

    def _refusal(self, error: LogError) -> Answer:
        head = self.head
        if isinstance(error, AppendRejected):
            partition = rejected(head.index, self._leader, error)
        else:
            partition = failed(head.index, error.code, error.client_message)
        return self._route.encode(head.header(self._frame), head.response(partition))
