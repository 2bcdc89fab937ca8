"""Translates errors of the transaction coordinator for older versions of a request."""

from penstock.protocol.errors import ErrorCode


def error_for_version(code: ErrorCode, version: int, *, knows_fenced_from: int) -> ErrorCode:
    """KIP-588: older clients know PRODUCER_FENCED as INVALID_PRODUCER_EPOCH."""
    if code is ErrorCode.PRODUCER_FENCED and version < knows_fenced_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
