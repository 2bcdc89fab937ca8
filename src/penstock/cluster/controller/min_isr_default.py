"""The cluster's own `min.insync.replicas`, which eligible leader replicas need (KIP-966).

Whether a replica is eligible depends on that setting, so all nodes must go by one value. When the feature is switched
on, in a new cluster too, the value in the controller's file becomes the default of all brokers, and single brokers lose
theirs. From then on it cannot be removed, nor set for one broker. A cluster of an earlier version has no such default,
and works without it until an administrator sets it.
"""

import logging
from collections.abc import Mapping

from penstock.cluster.controller.decision import Refusal
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.state import ELIGIBLE_LEADER_REPLICAS_VERSION
from penstock.config.broker import BrokerConfig
from penstock.config.property import render
from penstock.config.settings.topic import MIN_INSYNC_REPLICAS
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ConfigRecord

log = logging.getLogger(__name__)

_NAME = MIN_INSYNC_REPLICAS.name


def decide_min_isr(
    image: MetadataImage, config: BrokerConfig, levels: Mapping[str, int]
) -> list[ConfigRecord]:
    """The records that set the cluster's default when these feature levels need one."""
    if _has_elr(image) or levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) <= 0:
        return []
    in_file = config.static.get(_NAME, render(MIN_INSYNC_REPLICAS.default))
    own = [
        name
        for (kind, name), settings in image.configs.items()
        if kind == ResourceType.BROKER and name and _NAME in settings
    ]
    return [
        *([] if _NAME in image.cluster_settings() else [_record("", in_file)]),
        *(_record(name, None) for name in own),
    ]


def check_min_isr(image: MetadataImage, broker: str, *, is_named: bool, after: Mapping[str, str]) -> None:
    """Raise `Refusal` if the settings of a broker, or of all brokers (""), may not become these.

    A value that one broker has from before can still be removed.
    """
    if not _has_elr(image) or _NAME not in image.cluster_settings():
        return
    if not broker and _NAME not in after:
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            f"Cluster-level {_NAME} cannot be removed while ELR is enabled.",
        )
    is_removed = _NAME not in after and _NAME in image.configs.get((ResourceType.BROKER, broker), {})
    if broker and is_named and not is_removed:
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            f"Broker-level {_NAME} cannot be altered while ELR is enabled.",
        )


def warn_of_other_value(image: MetadataImage, config: BrokerConfig) -> None:
    """Log that the value in a broker's file is ignored: the cluster has its own."""
    in_file, of_cluster = config.static.get(_NAME), image.cluster_settings().get(_NAME)
    if in_file is not None and of_cluster is not None and in_file != of_cluster:
        log.warning(
            "Ignored %s=%s in this broker's own settings: the cluster has %s. To change it for all brokers: "
            "penstock config set brokers %s=%s",
            _NAME,
            in_file,
            of_cluster,
            _NAME,
            in_file,
        )


def _has_elr(image: MetadataImage) -> bool:
    return image.features.finalized.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0


def _record(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=ResourceType.BROKER, resource_name=broker, name=_NAME, value=value)
