from msgspec.structs import replace

from penstock.cluster.controller.controllers import ControllerRegistration, decide_register_controller
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import REGISTERED_FEATURES
from penstock.config.listeners import Endpoint
from tests.cluster.support import commit

ENDPOINT = Endpoint(name="CONTROLLER", host="c1", port=9093, security_protocol="SASL_SSL")
STARTED = ControllerRegistration(
    controller_id=1, incarnation_id=bytes([1] * 16), endpoints=[ENDPOINT], features=REGISTERED_FEATURES
)


def test_a_controller_registers_with_its_addresses_and_features() -> None:
    image = MetadataImage("cluster")
    commit(image, decide_register_controller(image, STARTED).records)
    controller = image.controllers[1]
    assert (controller.incarnation_id, controller.endpoints) == (bytes([1] * 16), (ENDPOINT,))
    assert controller.features == REGISTERED_FEATURES


def test_a_repeated_registration_writes_nothing_and_a_new_incarnation_replaces_it() -> None:
    image = MetadataImage("cluster")
    commit(image, decide_register_controller(image, STARTED).records)
    assert decide_register_controller(image, STARTED).records == []
    commit(image, decide_register_controller(image, replace(STARTED, incarnation_id=bytes(16))).records)
    assert image.controllers[1].incarnation_id == bytes(16)
