"""Divides the file descriptors of the process between logs and connections."""

import logging
import resource

import msgspec

log = logging.getLogger(__name__)

_SPARE = 64  # the process's own, syncs of directories, checkpoints and indexes being written
_LOGS_MAX = 1000  # more than that many logs are hardly in use at once, and opening one takes microseconds
_LITTLE = 1024


class Descriptors(msgspec.Struct, frozen=True, kw_only=True):
    for_logs: int
    for_connections: int


def divide_limit(limit: int) -> Descriptors:
    """Give logs half of the descriptors, up to a maximum, and connections the rest."""
    usable = max(2, limit - _SPARE)
    for_logs = min(_LOGS_MAX, usable // 2)
    return Descriptors(for_logs=for_logs, for_connections=usable - for_logs)


def raise_limit() -> int:
    """Raise the soft limit to the hard limit, as a JVM does, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError) as error:  # macOS has a hard limit that it does not grant
            log.info("Cannot raise the open-file limit (ulimit -n): %s. limit=%d", error, soft)
    if soft == resource.RLIM_INFINITY:
        return 1 << 20
    if soft < _LITTLE:
        log.warning("The open-file limit (ulimit -n) is low: raise it. limit=%d", soft)
    return soft
