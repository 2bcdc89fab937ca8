import pytest

from penstock.cluster.controller.features import (
    FeatureUpdate,
    UpgradeType,
    decide_bootstrap,
    decide_update_features,
)
from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import (
    BrokerFeature,
    ControllerFeature,
    FeatureLevelRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from tests.cluster.support import CONFIG, commit


def image_with(supported: dict[str, tuple[int, int]], **finalized: int) -> MetadataImage:
    image = MetadataImage("c")
    image.features.supported = supported
    commit(image, [FeatureLevelRecord(name=name, feature_level=level) for name, level in finalized.items()])
    return image


def refusal(image: MetadataImage, update: FeatureUpdate) -> str | None:
    records, result = decide_update_features(image, CONFIG, [FeatureUpdate(name="f", level=2), update])
    assert records == []
    assert result.error is ErrorCode.INVALID_UPDATE_VERSION
    return result.message


def test_a_new_cluster_has_every_feature_at_its_highest_level_by_default() -> None:
    image = image_with({"f": (0, 2), "g": (1, 3), "h": (0, 1)})
    assert decide_bootstrap(image, CONFIG, {"g": 2, "h": 0}).records == [
        FeatureLevelRecord(name="f", feature_level=2),
        FeatureLevelRecord(name="g", feature_level=2),
    ]


def test_an_old_cluster_keeps_its_levels() -> None:
    assert decide_bootstrap(image_with({"f": (0, 2)}, f=1), CONFIG).records == []


@pytest.mark.parametrize("supported", [{"f": (1, 2)}, {"f": (4, 5)}, {}])
def test_a_cluster_of_another_version_is_not_changed(supported: dict[str, tuple[int, int]]) -> None:
    with pytest.raises(
        MetadataError, match="this cluster has f at level 3, and this version of Penstock works with"
    ):
        decide_bootstrap(image_with(supported, f=3), CONFIG)


def test_a_level_is_raised_and_lowered() -> None:
    image = image_with({"f": (0, 2)}, f=1)
    commit(image, decide_update_features(image, CONFIG, [FeatureUpdate(name="f", level=2)]).records)
    assert image.features.finalized == {"f": 2}
    down = FeatureUpdate(name="f", level=0, upgrade_type=UpgradeType.SAFE_DOWNGRADE)
    commit(image, decide_update_features(image, CONFIG, [down]).records)
    assert image.features.finalized == {}


def test_an_unchanged_level_writes_no_record() -> None:
    records, result = decide_update_features(
        image_with({"f": (0, 2)}, f=1), CONFIG, [FeatureUpdate(name="f", level=1)]
    )
    assert (records, result.error) == ([], ErrorCode.NONE)


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (FeatureUpdate(name="g", level=-1), "A feature version cannot be less than 0."),
        (FeatureUpdate(name="g", level=4), "The controller only supports versions 0-3"),
        (FeatureUpdate(name="x", level=1), "The controller does not support this feature."),
        (
            FeatureUpdate(name="g", level=2, upgrade_type=0),
            "The controller does not support the given upgrade type.",
        ),
        (
            FeatureUpdate(name="g", level=3, upgrade_type=UpgradeType.SAFE_DOWNGRADE),
            "Can't downgrade to a newer version.",
        ),
        (
            FeatureUpdate(name="g", level=1),
            (
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
                "downgrade."
            ),
        ),
    ],
)
def test_an_invalid_update_stops_the_whole_request(update: FeatureUpdate, reason: str) -> None:
    image = image_with({"f": (0, 2), "g": (0, 3)}, f=1, g=2)
    expected = f"Invalid update version {update.level} for feature {update.name}. {reason}"
    assert refusal(image, update) == expected


def test_a_level_that_one_broker_does_not_support_is_refused() -> None:
    image = image_with({"f": (0, 2), "g": (0, 3)})
    features = [
        BrokerFeature(name="f", min_supported_version=0, max_supported_version=2),
        BrokerFeature(name="g", min_supported_version=0, max_supported_version=1),
    ]
    commit(image, [RegisterBrokerRecord(broker_id=4, features=features)])
    assert refusal(image, FeatureUpdate(name="g", level=2)) == (
        "Invalid update version 2 for feature g. Broker 4 only supports versions 0-1"
    )


def test_a_level_that_one_voter_does_not_support_is_refused_until_it_has_left() -> None:
    image = image_with({"g": (0, 3)})
    features = [ControllerFeature(name="g", min_supported_version=0, max_supported_version=1)]
    commit(image, [RegisterControllerRecord(controller_id=5, features=features)])
    update = FeatureUpdate(name="g", level=2)
    _, result = decide_update_features(image, CONFIG, [update], voter_ids=(1, 5))
    assert result.message == (
        "Invalid update version 2 for feature g. Controller 5 only supports versions 0-1"
    )
    records, _ = decide_update_features(image, CONFIG, [update], voter_ids=(1,))
    assert records == [FeatureLevelRecord(name="g", feature_level=2)]


def test_the_quorums_own_level_is_known_and_never_lowered() -> None:
    image = MetadataImage("c")
    assert image.features.levels == {"kraft.version": 1}
    assert decide_update_features(image, CONFIG, [FeatureUpdate(name="kraft.version", level=1)]).records == []
    down = FeatureUpdate(name="kraft.version", level=0, upgrade_type=UpgradeType.SAFE_DOWNGRADE)
    _, result = decide_update_features(image, CONFIG, [down])
    assert result.error is ErrorCode.INVALID_UPDATE_VERSION


def test_metadata_is_not_downgraded_below_the_version_of_its_records() -> None:
    supported = {"metadata.version": (25, 30)}
    image = image_with(supported)
    commit(image, [FeatureLevelRecord(name="metadata.version", feature_level=30)])
    down = FeatureUpdate(name="metadata.version", level=29, upgrade_type=UpgradeType.SAFE_DOWNGRADE)
    _, result = decide_update_features(image, CONFIG, [down])
    assert result.error is ErrorCode.INVALID_UPDATE_VERSION
    assert result.message is not None
    assert "might delete metadata information" in result.message


def test_a_new_cluster_has_the_features_of_kafka_4_3() -> None:
    image = MetadataImage("c")
    commit(image, decide_bootstrap(image, CONFIG).records)
    assert image.features.levels["streams.version"] == 1
    assert image.features.metadata_version == 30
