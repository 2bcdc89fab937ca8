"""The current leader of a partition, in responses to clients that asked another broker (KIP-951)."""

from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock.server.context import RequestContext

LED_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def current_leader(
    ctx: RequestContext, topic: bytes | str, index: int, leaders: dict[int, Any], api: Any
) -> Any:
    """Return the leader of a partition as a message of the module `api`.

    Adds its address on this client's listener to `leaders`, by node id.
    """
    image = ctx.broker.controller.image
    known = image.topic_by_id(topic) if isinstance(topic, bytes) else image.topic(topic)
    partition = known.partitions.get(index) if known is not None else None
    if partition is None:
        return api.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
    broker = image.brokers.get(partition.leader)
    endpoint = broker.endpoint(ctx.peer.listener) if broker is not None else None
    if broker is not None and endpoint is not None:
        leaders[broker.broker_id] = api.NodeEndpoint(
            node_id=broker.broker_id, host=endpoint.host, port=endpoint.port, rack=broker.rack
        )
    return api.LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
