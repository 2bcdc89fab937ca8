"""The short way of a small Produce through a broker under load.

A request that begins as the one before it, while the partition's disk is busy, says nothing new but its batch. Then
none of the things are made that a request is made of on its way to a handler and back: the batch is checked and
gathered, and its answer is written when it is told where it is stored (docs/adr/0017-gathered-appends.md). Whatever
is not as usual goes the long way, which finds out what to say.
"""

import logging
from typing import Final

from penstock.cluster.gathered import GATHERED_BYTES_MAX, GatheredAppend
from penstock.cluster.replica import Replica
from penstock.cluster.topic_names import INTERNAL_TOPICS
from penstock.observability.clock import Clock
from penstock.observability.completion import Completion
from penstock.protocol.records.batch import ATTRIBUTES_POSITION, HEADER_SIZE, TRANSACTIONAL_FLAG
from penstock.protocol.records.rules import CheckElsewhere
from penstock.protocol.repeated_produce import ProduceHead
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.server.connection_host import Answer, Peer
from penstock.server.context import Services
from penstock.server.produce_answers import answer_of_one, failed, rejected
from penstock.server.route import Route
from penstock.storage.log_errors import AppendRejected, LogError
from penstock.storage.storable_batch import StorableBatch

_requests_log = logging.getLogger("penstock.server.dispatch")
_ACKS_GATHERED: Final = (-1, 1)
_FLAGS_POSITION: Final = ATTRIBUTES_POSITION + 1  # the low byte


def gather(  # noqa: PLR0917  names are paid for at each call
    services: Services, route: Route, head: ProduceHead, records: memoryview, frame: bytearray, peer: Peer
) -> Completion[Answer] | None:
    """Append the batch together with what others send now; None, with nothing done, if it must go the long way."""
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
    clock = services.clock
    try:
        batch = leader.log.prepare(records, clock.now_ms())
    except (CheckElsewhere, AppendRejected):
        return None
    produce = GatheredProduce(batch, len(records), leader, head, frame, route, clock)
    leader.gather(produce)
    return produce


def _may_write(services: Services, peer: Peer, topic: str) -> bool:
    return services.authorizer.allows(peer.principal, peer.host, Operation.WRITE, ResourceType.TOPIC, topic)


class GatheredProduce(GatheredAppend):
    """The answer of one such request, when it comes."""

    __slots__ = ("_began_ms", "_clock", "_frame", "_head", "_leader", "_route")

    def __init__(  # noqa: PLR0917  as above
        self,
        batch: StorableBatch,
        size_bytes: int,
        leader: Replica,
        head: ProduceHead,
        frame: bytearray,
        route: Route,
        clock: Clock,
    ) -> None:
        super().__init__(batch, size_bytes)
        self._leader = leader
        self._head = head
        self._frame = frame
        self._route = route
        self._clock = clock
        self._began_ms = clock.monotonic_ms()

    def told(self, error: LogError | None) -> None:
        answer = self._answer() if error is None else self._refusal(error)
        self._route.counts.answered(
            len(self._frame), len(answer[0]), self._clock.monotonic_ms() - self._began_ms
        )
        self.resolve(answer)

    def _answer(self) -> Answer:
        stored = self.appended
        assert stored is not None
        return (
            self._head.answer(
                self._frame, stored.base_offset, stored.log_append_time_ms, stored.log_start_offset
            ),
        )

    def _refusal(self, error: LogError) -> Answer:
        head = self._head
        if isinstance(error, AppendRejected):
            response = rejected(head.index, self._leader, error)
        else:
            response = failed(head.index, error.code, str(error))
        [topic] = head.request(memoryview(b"")).topic_data
        return self._route.encode(head.header(self._frame), answer_of_one(topic, response))
