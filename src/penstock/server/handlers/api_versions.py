"""ApiVersions (key 18), v0-v4: the APIs that this broker serves, and the enabled features.

An unknown version is answered by `dispatch` in v0's form.
"""

import re

from penstock.config.settings.coordinators import UNSTABLE_API_VERSIONS_ENABLE
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import api_versions as api
from penstock.server.context import RequestContext
from penstock.server.handlers import TELEMETRY, advertised_versions

VERSIONS = range(5)

# KIP-511: a client's name and version must be safe to show and to log.
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(ctx: RequestContext, request: api.ApiVersionsRequest) -> api.ApiVersionsResponse:
    if ctx.version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return api.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if ctx.version >= 3:
        ctx.peer.software_name = request.client_software_name
        ctx.peer.software_version = request.client_software_version
    features = ctx.broker.controller.image.features
    return api.ApiVersionsResponse(
        api_keys=advertised_versions(
            hidden=() if ctx.broker.telemetry.is_wanted else TELEMETRY,
            unstable=ctx.broker.config[UNSTABLE_API_VERSIONS_ENABLE],
            of_controllers=ctx.peer.listener in ctx.broker.controller_listeners,
            forwarded_versions=ctx.broker.access.forwarded_versions,
        ),
        supported_features=[
            api.SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in features.supported.items()
            # KIP-584: before v4 a feature whose range starts at 0 cannot be shown.
            if low > 0 or ctx.version >= 4
        ],
        finalized_features_epoch=features.epoch,
        finalized_features=[
            api.FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in features.levels.items()
        ],
    )
