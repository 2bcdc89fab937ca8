"""Feature levels of a cluster, and the highest level of each that its brokers support (KIP-584)."""

from collections.abc import Sequence

import msgspec

from penstock.cli.connect.requests import RequestClient
from penstock.cluster.metadata.state import NOT_SWITCHED_ON
from penstock.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from penstock.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """`highest` is what the broker that answered supports."""

    name: str
    level: int
    highest: int


def read_features(client: RequestClient) -> list[Feature]:
    request = ApiVersionsRequest(client_software_name="penstock", client_software_version="cli")
    return features_in(client.ask(request))


def features_in(response: ApiVersionsResponse) -> list[Feature]:
    """List features by name, level 0 for a disabled one, without those that an upgrade does not raise."""
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    found = [
        Feature(name=each.name, level=levels.get(each.name, 0), highest=each.max_version)
        for each in response.supported_features
        if each.name not in NOT_SWITCHED_ON
    ]
    return sorted(found, key=lambda each: each.name)


def raise_features(client: RequestClient, features: Sequence[Feature]) -> None:
    """Raise features to their highest levels, all or none: the error names a broker that is too old for one."""
    updates = [FeatureUpdateKey(feature=each.name, max_version_level=each.highest) for each in features]
    client.ask(UpdateFeaturesRequest(feature_updates=updates))
