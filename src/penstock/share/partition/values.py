"""The arguments and results of a share partition."""

import enum
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from penstock.protocol.errors import ErrorCode


class PartitionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the group and the broker that apply to one share partition."""

    lock_duration_ms: int
    delivery_count_limit: int
    record_locks_max: int
    allows_renewal: bool = True  # KIP-1222: `share.renew.acknowledge.enable`


class AcquireMode(enum.IntEnum):
    """The meaning of the maximum number of records (KIP-1206), as the protocol numbers it."""

    BATCH_OPTIMIZED = 0  # may be exceeded: record batches are acquired as a whole
    RECORD_LIMIT = 1


class AcknowledgeType(enum.IntEnum):
    """The protocol's numbers."""

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
    """Records that are locked for a member until the lock expires; both ends included."""

    first_offset: int
    last_offset: int
    delivery_count: int


class Acknowledgement(NamedTuple):
    """Types for records from one offset to another, both included: one type for all, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]


class Refusal(NamedTuple):
    """The error of acknowledgements, of which none was accepted."""

    code: ErrorCode
    message: str
