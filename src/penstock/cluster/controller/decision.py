"""What a decision gives: the records that make it so, and the answers. Decisions read the image and change nothing."""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord
from penstock.storage.log.errors import LogError

R = TypeVar("R")

# One decision is one batch of the metadata log; the bound is Kafka's.
RECORDS_PER_DECISION_MAX = 10_000


class Decision(NamedTuple, Generic[R]):
    records: list[MetadataRecord]
    result: R


class NotController(LogError):
    """Another node decides, or will: whether what was appended stands is not known here."""

    code = ErrorCode.NOT_CONTROLLER


class Refusal(Exception):
    """Why one item of a request cannot be done: an error code and the words for it."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


Charge = Callable[[int], ErrorCode]
"""Puts so many partitions made or deleted on the account of who asks (KIP-599); anything but NONE refuses them."""


def free_of_charge(_partitions: int) -> ErrorCode:
    """Nobody's account: the broker's own doing."""
    return ErrorCode.NONE


def charge_for(charge: Charge, partitions: int) -> None:
    """Refuse what exceeds the quota of who asks."""
    code = charge(partitions)
    if code:
        raise Refusal(code, "The throttling quota has been exceeded.")


def refuse_repeated(occurrences: int) -> None:
    """Refuse a topic that one request names more than once: which of them is meant?"""
    if occurrences > 1:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def refuse_too_large(record_count: int, record_count_max: int = RECORDS_PER_DECISION_MAX) -> None:
    """Refuse what would not fit into one batch of the metadata log."""
    if record_count > record_count_max:
        raise Refusal(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
