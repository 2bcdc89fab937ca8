"""Which features a cluster has switched on, and how far each could go (KIP-584)."""

from collections.abc import Sequence

import msgspec

from penstock.cli.cluster_facts import Operator
from penstock.cluster.metadata.state import NOT_SWITCHED_ON
from penstock.protocol.messages import api_versions, update_features
from penstock.protocol.messages.api_versions import ApiVersionsResponse
from penstock.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """Its level in the cluster, and the highest that the broker asked can work with."""

    name: str
    level: int
    highest: int


def read_features(operator: Operator) -> list[Feature]:
    request = api_versions.ApiVersionsRequest(client_software_name="penstock", client_software_version="cli")
    return features_in(operator.ask(api_versions.API_KEY, request))


def features_in(answer: ApiVersionsResponse) -> list[Feature]:
    """By name; one that is not switched on has level 0. Those that an upgrade does not raise are left out."""
    levels = {each.name: each.max_version_level for each in answer.finalized_features}
    found = [
        Feature(name=each.name, level=levels.get(each.name, 0), highest=each.max_version)
        for each in answer.supported_features
        if each.name not in NOT_SWITCHED_ON
    ]
    return sorted(found, key=lambda each: each.name)


def raise_features(operator: Operator, features: Sequence[Feature]) -> None:
    """To their highest levels, all or none: a broker that is too old for one is named, and nothing is changed."""
    updates = [FeatureUpdateKey(feature=each.name, max_version_level=each.highest) for each in features]
    operator.ask(update_features.API_KEY, UpdateFeaturesRequest(feature_updates=updates))
