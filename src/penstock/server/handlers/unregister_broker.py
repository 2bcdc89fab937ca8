"""UnregisterBroker (key 64), v0: remove the registration of a broker that has left permanently (KIP-631).

A broker that runs and has a vote has not left: to remove it, first remove its vote (RemoveRaftVoter), as `penstock
cluster remove` does. Kafka would unregister it.
"""

from penstock.cluster.controller.decision import Refusal
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(1)


async def handle(ctx: RequestContext, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    if not ctx.may_in_cluster(Operation.ALTER):
        return UnregisterBrokerResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=None)
    if _is_here(ctx, request.broker_id):
        return UnregisterBrokerResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=f"Broker {request.broker_id} is running and has a vote in the metadata quorum: stop it, or "
            "remove its vote first",
        )
    try:
        await ctx.broker.controller.unregister_broker(request.broker_id)
    except Refusal as refusal:
        return UnregisterBrokerResponse(error_code=refusal.code, error_message=refusal.message)
    except LogError as error:
        return UnregisterBrokerResponse(error_code=error.code, error_message=error.client_message)
    return UnregisterBrokerResponse(error_message=None)


def _is_here(ctx: RequestContext, broker_id: int) -> bool:
    """Whether it has a vote and runs. It may still be fenced: while it starts, or after a late heartbeat."""
    broker = ctx.broker.controller.image.brokers.get(broker_id)
    node = ctx.broker.quorum.driver.node
    if broker is None or broker_id not in node.voters.ids:
        return False
    if not broker.fenced:
        return True
    is_leaving = broker.in_controlled_shutdown and broker_id != ctx.broker.node_id
    return not is_leaving and broker_id in node.heard_voters
