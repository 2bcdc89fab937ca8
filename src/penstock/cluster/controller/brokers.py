"""Decides registrations of brokers, and the allocation of producer ids."""

from collections.abc import Mapping, Sequence

import msgspec

from penstock.cluster.controller.decision import Decision, Refusal
from penstock.cluster.controller.returning_broker import ReturningBroker, change_partitions
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import RegisteredBroker
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    MetadataRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
)

PRODUCER_ID_BLOCK_SIZE = 1000
_PRODUCER_ID_MAX = 2**63 - 1
LOST_RECORDS = -2
"""Instead of an epoch: the broker lacks records that were durable."""


class BrokerRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """A broker that starts. `incarnation_id` is random at each start; `log_dirs` are its directories' ids.

    `previous_epoch` is the epoch in which it stopped cleanly, if it did (KIP-966), or `LOST_RECORDS`.
    """

    broker_id: int
    incarnation_id: bytes
    endpoints: Sequence[Endpoint]
    rack: str | None = None
    previous_epoch: int = -1
    log_dirs: Sequence[bytes] = ()
    features: Mapping[str, tuple[int, int]] | None = None  # None: the features of this version


class ProducerIdBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block of producer ids for one broker."""

    first_id: int
    size: int = PRODUCER_ID_BLOCK_SIZE


def decide_register_broker(
    image: MetadataImage, config: BrokerConfig, broker: BrokerRegistration, *, epoch: int, fenced: bool
) -> Decision[int]:
    """Register a broker under the epoch that is the offset of its registration.

    The active controller's own broker registers unfenced. Any other is fenced until its first heartbeat.
    """
    _check_features(image, broker)
    known = image.brokers.get(broker.broker_id)
    returning = ReturningBroker(
        broker_id=broker.broker_id,
        last_epoch=-1 if known is None else known.epoch,
        log_dirs=broker.log_dirs,
        has_lost_records=broker.previous_epoch == LOST_RECORDS,
        stopped_cleanly=known is not None and known.epoch == broker.previous_epoch,
        is_fenced=fenced,
        was_fenced=known is None or known.fenced,
        is_kafka=known is not None and known.is_kafka,
    )
    changes = change_partitions(image, config, returning)
    registered: list[MetadataRecord] = [_record(image, broker, epoch=epoch, fenced=fenced)]
    return Decision([*changes, *registered] if fenced else [*registered, *changes], epoch)


def decide_amend_registration(
    image: MetadataImage, broker: BrokerRegistration, known: RegisteredBroker
) -> Decision[int]:
    """The same incarnation registers again: it repeats the request, or has changed something. Its epoch stays."""
    _check_features(image, broker)
    record = msgspec.structs.replace(
        _record(image, broker, epoch=known.epoch, fenced=known.fenced),
        in_controlled_shutdown=known.in_controlled_shutdown,
        cordoned_log_dirs=None if known.cordoned_log_dirs is None else list(known.cordoned_log_dirs),
    )
    return Decision([] if RegisteredBroker.of(record) == known else [record], known.epoch)


def _check_features(image: MetadataImage, broker: BrokerRegistration) -> None:
    """Refuse a broker that does not support a level of the cluster."""
    if broker.features is None:
        return
    for name, level in image.features.finalized.items():
        low, high = broker.features.get(name, (0, 0))
        if not low <= level <= high:
            raise Refusal(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Unable to register because the broker does not support finalized version {level} of {name}. The "
                f"broker wants a version between {low} and {high}, inclusive.",
            )


def _record(
    image: MetadataImage, broker: BrokerRegistration, *, epoch: int, fenced: bool
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.broker_id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol_id,
            )
            for each in broker.endpoints
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in (broker.features or image.features.registered).items()
        ],
        rack=broker.rack,
        fenced=fenced,
        log_dirs=list(broker.log_dirs),
    )


def check_broker_epoch(image: MetadataImage, broker_id: int, epoch: int) -> None:
    """Raise `Refusal` for a stale broker epoch."""
    registered = image.brokers.get(broker_id)
    if registered is None:
        raise Refusal(ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}")
    if registered.epoch != epoch:
        message = f"Expected broker epoch {registered.epoch}, but got broker epoch {epoch}"
        raise Refusal(ErrorCode.STALE_BROKER_EPOCH, message)


def decide_producer_id_block(
    image: MetadataImage, broker_id: int, broker_epoch: int
) -> Decision[ProducerIdBlock]:
    """Allocate a block of producer ids to a broker. Ids that it does not use before a restart are lost."""
    check_broker_epoch(image, broker_id, broker_epoch)
    first_id = image.next_producer_id
    if first_id > _PRODUCER_ID_MAX - PRODUCER_ID_BLOCK_SIZE:
        raise Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "All producer ids have been allocated")
    record = ProducerIdsRecord(
        broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=first_id + PRODUCER_ID_BLOCK_SIZE
    )
    return Decision([record], ProducerIdBlock(first_id=first_id))
