"""UpdateFeatures in every version, against a live broker."""

import pytest

from penstock.protocol.messages.api_versions import ApiVersionsRequest
from penstock.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.server.live import Client, code, versions

VERSIONS = versions(UpdateFeaturesRequest)
_NAME = "transaction.version"


async def level(client: Client) -> int:
    response = await client.send(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 4)
    return next((each.max_version_level for each in response.finalized_features if each.name == _NAME), 0)


async def update(
    client: Client, to: int, version: int, *, upgrade_type: int = 1, validate_only: bool = False
) -> UpdateFeaturesResponse:
    if version == 0:
        wanted = FeatureUpdateKey(feature=_NAME, max_version_level=to, allow_downgrade=upgrade_type > 1)
    else:
        wanted = FeatureUpdateKey(feature=_NAME, max_version_level=to, upgrade_type=upgrade_type)
    request = UpdateFeaturesRequest(feature_updates=[wanted], validate_only=validate_only and version > 0)
    response: UpdateFeaturesResponse = await client.send(request, version)
    return response


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_level_is_lowered_by_an_explicit_downgrade_and_raised_again(
    client: Client, version: int
) -> None:
    before = await level(client)
    lowered = await update(client, before - 1, version, upgrade_type=2)
    assert (lowered.error_code, lowered.error_message) == (0, None)
    assert [each.feature for each in lowered.results] == ([_NAME] if version <= 1 else [])
    assert await level(client) == before - 1
    assert (await update(client, before, version)).error_code == 0
    assert await level(client) == before


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_unknown_level_or_an_implicit_downgrade_is_refused(client: Client, version: int) -> None:
    before = await level(client)
    for wrong in (before - 1, 99):
        refused = await update(client, wrong, version)
        assert code(refused.error_code) == "INVALID_UPDATE_VERSION"
        assert refused.error_message is not None
        assert refused.error_message.startswith("The update failed for all features since")
        assert refused.results == []
    assert await level(client) == before


@pytest.mark.parametrize("version", VERSIONS[1:])
async def test_validate_only_changes_nothing(client: Client, version: int) -> None:
    before = await level(client)
    assert (await update(client, before - 1, version, upgrade_type=2, validate_only=True)).error_code == 0
    assert await level(client) == before
