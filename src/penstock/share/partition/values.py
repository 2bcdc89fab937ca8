"""What a share partition is asked and what it answers."""

import enum
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from penstock.protocol.errors import ErrorCode


class ShareSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the group and the broker are set to, as far as it matters to one share partition."""

    lock_duration_ms: int
    delivery_count_limit: int
    record_locks_max: int
    allows_renewal: bool = True  # KIP-1222: `share.renew.acknowledge.enable`


class AcquireMode(enum.IntEnum):
    """How the maximum of records is meant (KIP-1206), as the protocol numbers it."""

    BATCH_OPTIMIZED = 0  # a wish: record batches are given whole
    RECORD_LIMIT = 1


class AcknowledgeType(enum.IntEnum):
    """As the protocol numbers it."""

    GAP = 0  # there is no such record, or only a control record
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class OffsetRange(NamedTuple):
    """Both ends included."""

    first_offset: int
    last_offset: int


class Acquired(NamedTuple):
    """Records that a member may now work on until their lock expires; both ends included."""

    first_offset: int
    last_offset: int
    delivery_count: int


class Acknowledgement(NamedTuple):
    """Of records from one offset to another, both included: one type for all of them, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]


class Refused(NamedTuple):
    """Acknowledgements that were not accepted, none of them."""

    code: ErrorCode
    message: str
