"""Changes log levels of this process, for IncrementalAlterConfigs of BROKER_LOGGER resources (KIP-412).

The controller neither decides nor stores them: a level lasts until the process ends.
"""

import logging

from penstock.cluster.controller.alter_configs import Operation, ResourceChanges, SettingChange
from penstock.cluster.controller.decision import Refusal
from penstock.observability.log_levels import LEVELS, ROOT, logger_names, set_level
from penstock.protocol.errors import ErrorCode

log = logging.getLogger(__name__)


def alter_log_levels(node_id: int, resource: ResourceChanges, *, validate_only: bool = False) -> None:
    """Change all of the levels, or none. Raises `Refusal`."""
    _check_node(node_id, resource.resource_name)
    names = frozenset(logger_names())
    for change in resource.changes:
        _check(change, names)
    if not validate_only:
        for change in resource.changes:
            _apply(change)


def _check_node(node_id: int, name: str) -> None:
    if not (name.isascii() and name.isdigit()):
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if int(name) != node_id:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected node id. Expected {node_id}, but received {name}",
        )


def _check(change: SettingChange, names: frozenset[str]) -> None:
    if change.operation not in (Operation.SET, Operation.DELETE):
        known = {each.value: each.name for each in Operation}
        what = known.get(change.operation, f"Unknown operation type {change.operation}")
        raise Refusal(ErrorCode.INVALID_REQUEST, f"{what} is not allowed for the BROKER_LOGGER resource")
    if change.name not in names:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"Logger {change.name} does not exist!")
    if change.operation == Operation.SET and change.value not in LEVELS:
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {change.name} to {change.value} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(LEVELS))}",
        )
    if change.operation == Operation.DELETE and change.name == ROOT:
        raise Refusal(
            ErrorCode.INVALID_REQUEST, f"Removing the log level of the {ROOT} logger is not allowed"
        )


def _apply(change: SettingChange) -> None:
    if change.operation == Operation.DELETE:
        set_level(change.name, None)
        log.warning("Removed the log level. logger=%s", change.name)
    else:
        set_level(change.name, change.value)
        log.warning("Changed the log level. logger=%s level=%s", change.name, change.value)
