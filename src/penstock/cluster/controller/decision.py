"""The result of a decision: records and answers. Decisions read the image and change nothing."""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord
from penstock.storage.errors import LogError

R = TypeVar("R")

# One decision is one batch of the metadata log; the bound is Kafka's.
RECORDS_PER_DECISION_MAX = 10_000


class Decision(NamedTuple, Generic[R]):
    records: list[MetadataRecord]
    result: R


class NotController(LogError):
    """Another node is, or will be, the controller: whether an append was committed is not known here."""

    code = ErrorCode.NOT_CONTROLLER


class Refusal(Exception):
    """One item of a request is refused, with an error code and a message."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


Charge = Callable[[int], ErrorCode]
"""Charges created or deleted partitions to a client's quota (KIP-599); an error refuses them."""


def no_charge(_partitions: int) -> ErrorCode:
    """Charge no client: the broker acts for itself."""
    return ErrorCode.NONE


def charge_for(charge: Charge, partitions: int) -> None:
    """Refuse partitions that exceed the client's quota."""
    code = charge(partitions)
    if code:
        raise Refusal(code, "The throttling quota has been exceeded.")


def refuse_duplicate(occurrences: int) -> None:
    """Refuse a topic that a request names more than once."""
    if occurrences > 1:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def refuse_too_large(record_count: int, record_count_max: int = RECORDS_PER_DECISION_MAX) -> None:
    """Refuse a decision that does not fit into one batch of the metadata log."""
    if record_count > record_count_max:
        raise Refusal(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
