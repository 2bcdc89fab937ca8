"""`penstock cluster upgrade` against a real broker."""

import asyncio
from pathlib import Path

import pytest

from penstock.cli.cluster.features import Feature, features_in
from penstock.cli.connect.requests import RequestClient
from penstock.cluster.metadata import state
from penstock.protocol.messages.api_versions import (
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from penstock.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.cli.conftest import call_command
from tests.server.live import running_broker
from tests.support.broker import BrokerProcess

SAFE_DOWNGRADE = 2


async def make_cluster(directory: Path) -> None:
    async with running_broker(directory):
        pass


def test_a_feature_that_is_not_switched_on_has_level_0() -> None:
    answer = ApiVersionsResponse(
        supported_features=[
            SupportedFeatureKey(name="share.version", max_version=1),
            SupportedFeatureKey(name="group.version", max_version=3),
        ],
        finalized_features=[FinalizedFeatureKey(name="group.version", max_version_level=2)],
    )
    assert features_in(answer) == [
        Feature(name="group.version", level=2, highest=3),
        Feature(name="share.version", level=0, highest=1),
    ]


def test_a_cluster_of_an_earlier_version_is_upgraded(own_broker: BrokerProcess) -> None:
    def upgrade(*options: str) -> str:
        done = call_command("cluster", "upgrade", *options, "--bootstrap-server", own_broker.bootstrap)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    lower = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=SAFE_DOWNGRADE)
    with RequestClient(own_broker.bootstrap) as client:
        client.ask(UpdateFeaturesRequest(feature_updates=[lower]))
    planned = upgrade("--dry-run")
    assert planned.split() == ["FEATURE", "LEVEL", "AFTER", "share.version", "0", "1"]
    assert upgrade() == planned
    assert "has all features of its brokers" in upgrade()


def test_a_data_directory_of_an_earlier_version_keeps_its_metadata_version_until_the_upgrade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = BrokerProcess(tmp_path)
    with monkeypatch.context() as earlier:
        earlier.setattr(state, "SUPPORTED_FEATURES", {"metadata.version": (25, 25), "group.version": (0, 1)})
        asyncio.run(make_cluster(broker.data_dir))
    broker.start()
    try:
        done = call_command("cluster", "upgrade", "--bootstrap-server", broker.bootstrap)
        assert (done.returncode, done.stderr) == (0, "")
        assert ["metadata.version", "25", "30"] in [line.split() for line in done.stdout.splitlines()]
        broker.stop()
        broker.start()
        again = call_command("cluster", "upgrade", "--bootstrap-server", broker.bootstrap)
        assert "has all features of its brokers" in again.stdout
    finally:
        broker.stop()
