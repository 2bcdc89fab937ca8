import pytest

from penstock.cluster.controller.alter_configs import (
    Operation,
    ResourceChanges,
    SettingChange,
    decide_alter_configs,
    decide_incremental_alter_configs,
)
from penstock.cluster.controller.features import (
    FeatureUpdate,
    UpgradeType,
    decide_bootstrap,
    decide_update_features,
)
from penstock.cluster.controller.min_isr_default import warn_of_other_value
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.state import ELIGIBLE_LEADER_REPLICAS_VERSION
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ConfigRecord
from tests.cluster.support import CONFIG, commit, image_of

MIN_ISR = "min.insync.replicas"
TO_TWO = BrokerConfig({MIN_ISR: "2"})
SET, DELETE = Operation.SET, Operation.DELETE


def new_cluster(config: BrokerConfig = CONFIG) -> MetadataImage:
    image = image_of()
    commit(image, decide_bootstrap(image, config).records)
    return image


def alter(
    image: MetadataImage, broker: str, *changes: SettingChange, replace_all: bool = False
) -> tuple[ErrorCode, str | None]:
    resource = ResourceChanges(resource_type=ResourceType.BROKER, resource_name=broker, changes=changes)
    decide = decide_alter_configs if replace_all else decide_incremental_alter_configs
    records, (result,) = decide(image, CONFIG, [resource])
    commit(image, records)
    return result.error, result.message


def switch(image: MetadataImage, config: BrokerConfig, level: int) -> None:
    upgrade_type = UpgradeType.UPGRADE if level else UpgradeType.SAFE_DOWNGRADE
    update = FeatureUpdate(name=ELIGIBLE_LEADER_REPLICAS_VERSION, level=level, upgrade_type=upgrade_type)
    records, result = decide_update_features(image, config, [update])
    assert result.error is ErrorCode.NONE, result.message
    commit(image, records)


@pytest.mark.parametrize(("config", "value"), [(CONFIG, "1"), (TO_TWO, "2")])
def test_a_new_cluster_keeps_the_value_of_its_first_controller_for_all_brokers(
    config: BrokerConfig, value: str
) -> None:
    assert new_cluster(config).cluster_settings() == {MIN_ISR: value}


def test_the_default_can_be_changed_for_all_brokers_but_not_removed() -> None:
    image = new_cluster()
    assert alter(image, "", SettingChange(MIN_ISR, SET, "2"))[0] is ErrorCode.NONE
    refusal = (
        ErrorCode.INVALID_CONFIG,
        "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
    )
    assert alter(image, "", SettingChange(MIN_ISR, DELETE)) == refusal
    assert alter(image, "", SettingChange("max.connections", SET, "5"), replace_all=True) == refusal
    assert alter(image, "", SettingChange(MIN_ISR, SET, "3"), replace_all=True)[0] is ErrorCode.NONE
    assert image.cluster_settings() == {MIN_ISR: "3"}


@pytest.mark.parametrize("change", [SettingChange(MIN_ISR, SET, "1"), SettingChange(MIN_ISR, DELETE)])
def test_a_single_broker_cannot_have_its_own_value(change: SettingChange) -> None:
    refusal = (
        ErrorCode.INVALID_CONFIG,
        "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
    )
    image = new_cluster()
    assert alter(image, "1", change) == refusal
    assert alter(image, "1", SettingChange("max.connections", SET, "5"))[0] is ErrorCode.NONE


def test_a_value_that_a_broker_has_from_an_earlier_version_can_be_removed() -> None:
    image = new_cluster()
    stored = ConfigRecord(resource_type=ResourceType.BROKER, resource_name="1", name=MIN_ISR, value="3")
    commit(image, [stored])
    assert alter(image, "1", SettingChange(MIN_ISR, DELETE))[0] is ErrorCode.NONE
    assert image.broker_settings(1) == {}


def test_a_cluster_of_an_earlier_version_without_such_a_default_is_not_changed() -> None:
    image = image_of()
    image.features.finalized[ELIGIBLE_LEADER_REPLICAS_VERSION] = 1
    for broker in ("1", ""):
        assert alter(image, broker, SettingChange(MIN_ISR, SET, "2"))[0] is ErrorCode.NONE


def test_disabling_the_feature_frees_the_setting_and_enabling_it_sets_it_again() -> None:
    image = new_cluster()
    switch(image, CONFIG, 0)
    assert alter(image, "", SettingChange(MIN_ISR, DELETE))[0] is ErrorCode.NONE
    assert alter(image, "1", SettingChange(MIN_ISR, SET, "4"))[0] is ErrorCode.NONE
    switch(image, TO_TWO, 1)
    assert (image.cluster_settings(), image.broker_settings(1)) == ({MIN_ISR: "2"}, {})


def test_a_different_value_in_the_properties_file_is_logged_as_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    image = new_cluster()
    warn_of_other_value(image, CONFIG)
    warn_of_other_value(image, BrokerConfig({MIN_ISR: "1"}))
    assert caplog.text == ""
    warn_of_other_value(image, TO_TWO)
    assert "Ignored min.insync.replicas=2 in this broker's own settings: the cluster has 1" in caplog.text
