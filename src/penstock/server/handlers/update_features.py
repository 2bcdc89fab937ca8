"""UpdateFeatures (key 57), v0-v2: raise or lower the levels of the cluster's features (KIP-584, KIP-778).

Version 0 has a flag that allows downgrades; later versions name the kind of change. All updates apply, or none.
"""

from penstock.cluster.controller.features import FeaturesUpdated, FeatureUpdate, UpgradeType
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import update_features as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(3)

_ANSWERS_EACH_UNTIL = 1


async def handle(ctx: RequestContext, request: api.UpdateFeaturesRequest) -> api.UpdateFeaturesResponse:
    if not ctx.may_in_cluster(Operation.ALTER):
        return api.UpdateFeaturesResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=None
        )
    updates = [
        FeatureUpdate(name=each.feature, level=each.max_version_level, upgrade_type=_kind(ctx, each))
        for each in request.feature_updates
    ]
    try:
        outcome = await ctx.broker.controller.update_features(updates, validate_only=request.validate_only)
    except LogError as error:  # the metadata log takes no records: nothing has changed
        outcome = FeaturesUpdated(error=error.code, message=error.client_message)
    if outcome.error:
        return api.UpdateFeaturesResponse(
            error_code=outcome.error,
            error_message=(
                "The update failed for all features since the following feature had an error: "
                f"{outcome.message}"
            ),
        )
    results = [api.UpdatableFeatureResult(feature=each.name, error_message=None) for each in updates]
    return api.UpdateFeaturesResponse(
        error_message=None, results=results if ctx.version <= _ANSWERS_EACH_UNTIL else []
    )


def _kind(ctx: RequestContext, update: api.FeatureUpdateKey) -> int:
    if ctx.version > 0:
        return update.upgrade_type
    return UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE
