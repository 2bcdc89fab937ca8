"""What a transaction coordinator's answer is called in an older version of a request."""

from penstock.protocol.errors import ErrorCode


def told(code: ErrorCode, version: int, *, knows_fenced_from: int) -> ErrorCode:
    """KIP-588: clients before PRODUCER_FENCED know the same thing as INVALID_PRODUCER_EPOCH."""
    if code is ErrorCode.PRODUCER_FENCED and version < knows_fenced_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
