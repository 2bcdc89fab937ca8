"""Decides registrations of controllers (KIP-919)."""

from collections.abc import Mapping, Sequence

import msgspec

from penstock.cluster.controller.decision import Decision
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import RegisteredController
from penstock.config.listeners import Endpoint
from penstock.protocol.messages.metadata_records import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)


class ControllerRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """A controller that starts. `incarnation_id` is random at each start."""

    controller_id: int
    incarnation_id: bytes
    endpoints: Sequence[Endpoint]
    features: Mapping[str, tuple[int, int]]


def decide_register_controller(image: MetadataImage, controller: ControllerRegistration) -> Decision[None]:
    record = RegisterControllerRecord(
        controller_id=controller.controller_id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=False,
        end_points=[
            ControllerEndpoint(
                name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol_id
            )
            for each in controller.endpoints
        ],
        features=[
            ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in controller.features.items()
        ],
    )
    is_known = image.controllers.get(controller.controller_id) == RegisteredController.of(record)
    return Decision([] if is_known else [record], None)
