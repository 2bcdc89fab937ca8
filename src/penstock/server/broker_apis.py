"""Requests that only brokers of this cluster may send, on every listener, with or without an authorizer (ADR 19).

Kafka serves these on listeners of controllers and brokers only; here there is one port. `Dispatcher` checks this table
before it calls the handler. An entry selects requests of an API and makes the response that refuses them.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from penstock.cluster.quorum.wire import is_about_quorum
from penstock.observability.log_limiter import LogLimiter
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import Clock
from penstock.server.connections import Peer

log = logging.getLogger(__name__)

_REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_HAS_IDS_FROM = 13  # Fetch
_BATCHED_FROM = 4  # AddPartitionsToTxn


def _every(_request: Any, _version: int) -> bool:
    return True


def _refuse_whole(_request: Any, response_type: type[Any]) -> Any:
    return response_type(error_code=_REFUSED)


class BrokerApi(NamedTuple):
    """`is_meant` takes a request and its version; `refusal` makes the response, of the given type."""

    is_meant: Callable[[Any, int], bool] = _every
    refusal: Callable[[Any, type[Any]], Any] = _refuse_whole


def _reads_as_a_broker(request: Any, version: int) -> bool:
    """Fetches of followers, and of the metadata log, which holds credentials and can be fetched by its id only."""
    if max(request.replica_id, request.replica_state.replica_id) >= 0:
        return True
    return version >= _HAS_IDS_FROM and is_about_quorum(request)


def _commits(request: Any, _version: int) -> bool:
    """Administrators may abort a hanging transaction (see `write_txn_markers`), but not commit it."""
    return any(marker.transaction_result for marker in request.markers)


def _refuse_markers(request: Any, response_type: type[Any]) -> Any:
    fields = {
        "markers": [
            {
                "producer_id": marker.producer_id,
                "topics": [
                    {
                        "name": topic.name,
                        "partitions": [
                            {"partition_index": number, "error_code": _REFUSED}
                            for number in topic.partition_indexes
                        ],
                    }
                    for topic in marker.topics
                ],
            }
            for marker in request.markers
        ]
    }
    return msgspec.convert(fields, response_type)


def _refuse_share_partitions(request: Any, response_type: type[Any]) -> Any:
    fields = {
        "results": [
            {
                "topic_id": topic.topic_id,
                "partitions": [
                    {"partition": each.partition, "error_code": _REFUSED} for each in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }
    return msgspec.convert(fields, response_type)


BROKER_APIS: Mapping[int, BrokerApi] = {
    1: BrokerApi(_reads_as_a_broker),
    24: BrokerApi(lambda _request, version: version >= _BATCHED_FROM),
    27: BrokerApi(_commits, _refuse_markers),
    52: BrokerApi(),  # Vote
    53: BrokerApi(),  # BeginQuorumEpoch
    54: BrokerApi(),  # EndQuorumEpoch
    56: BrokerApi(),  # AlterPartition
    58: BrokerApi(),  # Envelope
    59: BrokerApi(),  # FetchSnapshot
    62: BrokerApi(),  # BrokerRegistration
    63: BrokerApi(),  # BrokerHeartbeat
    67: BrokerApi(),  # AllocateProducerIds
    70: BrokerApi(),  # ControllerRegistration
    73: BrokerApi(),  # AssignReplicasToDirs
    82: BrokerApi(),  # UpdateRaftVoter
    83: BrokerApi(refusal=_refuse_share_partitions),  # InitializeShareGroupState
    84: BrokerApi(refusal=_refuse_share_partitions),  # ReadShareGroupState
    85: BrokerApi(refusal=_refuse_share_partitions),  # WriteShareGroupState
    86: BrokerApi(refusal=_refuse_share_partitions),  # DeleteShareGroupState
    87: BrokerApi(refusal=_refuse_share_partitions),  # ReadShareGroupStateSummary
}


class ImpersonationLog:
    """Logs attempts to act as a broker, at most once a minute for each address and cause."""

    def __init__(self, clock: Clock) -> None:
        self._log_limiter = LogLimiter(clock)

    def note(self, peer: Peer, what: str) -> None:
        if times := self._log_limiter.times((peer.host, what)):
            again = "" if times == 1 else f" ({times} times since this was logged last)"
            log.warning(
                "Refused a request for brokers only: the client %s%s. peer=%s principal=%s listener=%s",
                what,
                again,
                peer,
                peer.principal,
                peer.listener,
            )
