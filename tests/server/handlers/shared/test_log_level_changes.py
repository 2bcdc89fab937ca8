import logging
from collections.abc import Iterator

import pytest

from penstock.cluster.controller.alter_configs import Operation, ResourceChanges, SettingChange
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.metadata.image import ResourceType
from penstock.observability.log_levels import ROOT, level_of, set_level
from penstock.protocol.errors import ErrorCode
from penstock.server.handlers.shared.log_level_changes import alter_log_levels

NODE = 1
LOGGER = "penstock.changed_under_test"


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    logging.getLogger(LOGGER)
    set_level(LOGGER, "ERROR")
    yield
    set_level(LOGGER, None)


def changes(*each: tuple[str, int, str | None], node: str = str(NODE)) -> ResourceChanges:
    return ResourceChanges(
        resource_type=ResourceType.BROKER_LOGGER,
        resource_name=node,
        changes=[SettingChange(*change) for change in each],
    )


def test_a_level_is_set_and_removed() -> None:
    alter_log_levels(NODE, changes((LOGGER, Operation.SET, "TRACE")))
    assert level_of(LOGGER) == "TRACE"
    alter_log_levels(NODE, changes((LOGGER, Operation.DELETE, None)))
    assert level_of(LOGGER) == level_of("penstock")


def test_validate_only_changes_nothing() -> None:
    alter_log_levels(NODE, changes((LOGGER, Operation.SET, "DEBUG")), validate_only=True)
    assert level_of(LOGGER) == "ERROR"


@pytest.mark.parametrize(
    ("name", "operation", "value", "code"),
    [
        ("penstock.no_such_logger", Operation.SET, "INFO", ErrorCode.INVALID_CONFIG),
        ("penstock.no_such_logger", Operation.DELETE, None, ErrorCode.INVALID_CONFIG),
        (LOGGER, Operation.SET, "LOUD", ErrorCode.INVALID_CONFIG),
        (LOGGER, Operation.SET, "info", ErrorCode.INVALID_CONFIG),
        (LOGGER, Operation.APPEND, "INFO", ErrorCode.INVALID_REQUEST),
        (LOGGER, Operation.SUBTRACT, "INFO", ErrorCode.INVALID_REQUEST),
        (LOGGER, 9, "INFO", ErrorCode.INVALID_REQUEST),
        (ROOT, Operation.DELETE, None, ErrorCode.INVALID_REQUEST),
    ],
)
def test_one_invalid_change_refuses_all(
    name: str, operation: int, value: str | None, code: ErrorCode
) -> None:
    with pytest.raises(Refusal) as refused:
        alter_log_levels(NODE, changes((LOGGER, Operation.SET, "DEBUG"), (name, operation, value)))
    assert refused.value.code == code
    assert level_of(LOGGER) == "ERROR"


@pytest.mark.parametrize("node", ["", "2", "one", "-1"])
def test_the_levels_of_another_broker_are_not_changed_here(node: str) -> None:
    with pytest.raises(Refusal) as refused:
        alter_log_levels(NODE, changes((LOGGER, Operation.SET, "DEBUG"), node=node))
    assert refused.value.code == ErrorCode.INVALID_REQUEST
    assert level_of(LOGGER) == "ERROR"
