"""Decides UpdateFeatures: the feature levels of the whole cluster (KIP-584)."""

import enum
from collections.abc import Collection, Mapping, Sequence

import msgspec

from penstock.cluster.controller.decision import Decision, Refusal
from penstock.cluster.controller.min_isr_default import decide_min_isr
from penstock.cluster.metadata.errors import MetadataError
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import (
    CORDONED_DIRECTORIES_LEVEL,
    KRAFT_VERSION,
    METADATA_VERSION,
    NOT_SWITCHED_ON,
)
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import FeatureLevelRecord, MetadataRecord


class UpgradeType(enum.IntEnum):
    """Whether the level may be lowered, with the protocol's numbers (KIP-778)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


class FeaturesUpdated(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a request: all updates are made, or none."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_bootstrap(
    image: MetadataImage, config: BrokerConfig, levels: Mapping[str, int] | None = None
) -> Decision[None]:
    """Set every feature of a new cluster to its highest level, or to its level in `levels`: its first records.

    An existing cluster keeps its levels, and raises `MetadataError` when this version does not support them.
    """
    if image.features.finalized:
        _check_workable(image)
        return Decision([], None)
    supported = image.features.supported.items()
    chosen = {name: high for name, (_, high) in supported if name not in NOT_SWITCHED_ON} | dict(levels or {})
    records: list[MetadataRecord] = [
        FeatureLevelRecord(name=name, feature_level=level) for name, level in chosen.items() if level > 0
    ]
    return Decision([*records, *decide_min_isr(image, config, chosen)], None)


def _check_workable(image: MetadataImage) -> None:
    for name, level in image.features.finalized.items():
        low, high = image.features.supported.get(name, (0, 0))
        if not low <= level <= high:
            raise MetadataError(
                f"this cluster has {name} at level {level}, and this version of Penstock works with {low} to {high}: "
                "start it with the version that made it, or give another data directory"
            )


def decide_update_features(
    image: MetadataImage,
    config: BrokerConfig,
    updates: Sequence[FeatureUpdate],
    voter_ids: Collection[int] = (),
) -> Decision[FeaturesUpdated]:
    """Raise or lower levels, within what every registered broker and every voter supports."""
    try:
        for update in updates:
            _check(image, update, voter_ids)
    except Refusal as refusal:
        return Decision([], FeaturesUpdated(error=refusal.code, message=refusal.message))
    records: list[MetadataRecord] = [
        FeatureLevelRecord(name=update.name, feature_level=update.level)
        for update in updates
        if update.level != image.features.levels.get(update.name, 0)
    ]
    wanted = {update.name: update.level for update in updates}
    return Decision([*records, *decide_min_isr(image, config, wanted)], FeaturesUpdated())


def _check(image: MetadataImage, update: FeatureUpdate, voter_ids: Collection[int]) -> None:
    current = image.features.levels.get(update.name, 0)
    reason: str | None = None
    if update.upgrade_type not in tuple(UpgradeType):
        reason = "The controller does not support the given upgrade type."
    elif update.level < 0:
        reason = "A feature version cannot be less than 0."
    elif (unsupported := _unsupported(image, update, voter_ids)) is not None:
        reason = unsupported
    elif update.level < current and update.upgrade_type == UpgradeType.UPGRADE:
        reason = (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    elif update.name == KRAFT_VERSION and update.level < current:
        reason = "Can't downgrade the version of this feature."
    elif update.name == METADATA_VERSION and update.level < CORDONED_DIRECTORIES_LEVEL <= current:
        reason = "Refusing to perform the requested downgrade because it might delete metadata information."
    elif update.level > current and update.upgrade_type != UpgradeType.UPGRADE:
        reason = "Can't downgrade to a newer version."
    if reason is not None:
        raise Refusal(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {update.level} for feature {update.name}. {reason}",
        )


def _unsupported(image: MetadataImage, update: FeatureUpdate, voter_ids: Collection[int]) -> str | None:
    supporters = [("The controller", image.features.supported)]
    supporters += [
        (f"Broker {broker_id}", image.brokers[broker_id].features) for broker_id in sorted(image.brokers)
    ]
    supporters += [  # the registration of a controller stays when it leaves
        (f"Controller {node_id}", image.controllers[node_id].features)
        for node_id in sorted(image.controllers.keys() & set(voter_ids))
    ]
    for who, supported in supporters:
        low, high = supported.get(update.name, (0, 0))
        if not low <= update.level <= high:
            is_known = update.name in supported
            return f"{who} {f'only supports versions {low}-{high}' if is_known else 'does not support this feature.'}"
    return None
