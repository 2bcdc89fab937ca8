"""The states of a transactional id, and every transition between them.

Empty              its producer has an id and an epoch, and no transaction yet.
Ongoing            a transaction has partitions; it ends on request, by its timeout, or when its producer is replaced.
PrepareCommit      the log has the decision to commit, which will be executed.
PrepareAbort       the log has the decision to abort, which will be executed.
CompleteCommit     every partition has its commit marker.
CompleteAbort      every partition has its abort marker.
Dead               expired.
PrepareEpochFence  the producer is fenced so that its transaction can be aborted; never stored.
"""

import enum
from collections.abc import Mapping


class State(enum.IntEnum):
    """The numbers are those in the records."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def protocol_name(self) -> str:
        """The name in the protocol."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def is_prepared(self) -> bool:
        return self in (State.PREPARE_COMMIT, State.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open: a producer may be initialized, a transaction may begin, the id may expire."""
        return self in (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


STATE_NAMES: Mapping[str, State] = {state.protocol_name: state for state in State}


class Event(enum.Enum):
    INITIALIZED = "a producer is initialized"
    PARTITIONS_ADDED = "partitions are added, by request or by their first records"
    COMMITTED = "the producer commits"
    ABORTED = "the producer or the coordinator aborts"
    FENCED = "the transaction timed out, or another producer uses the id"
    MARKERS_WRITTEN = "every partition has its marker"
    EXPIRED = "the id has expired"


_FROM_IDLE: Mapping[Event, State] = {
    Event.INITIALIZED: State.EMPTY,
    Event.PARTITIONS_ADDED: State.ONGOING,
    Event.ABORTED: State.PREPARE_ABORT,  # KIP-890: aborting nothing still raises the epoch
    Event.EXPIRED: State.DEAD,
}
TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.EMPTY: _FROM_IDLE,
    State.ONGOING: {
        Event.PARTITIONS_ADDED: State.ONGOING,
        Event.COMMITTED: State.PREPARE_COMMIT,
        Event.ABORTED: State.PREPARE_ABORT,
        Event.FENCED: State.PREPARE_EPOCH_FENCE,
    },
    State.PREPARE_COMMIT: {Event.MARKERS_WRITTEN: State.COMPLETE_COMMIT},
    State.PREPARE_ABORT: {Event.MARKERS_WRITTEN: State.COMPLETE_ABORT},
    State.COMPLETE_COMMIT: _FROM_IDLE,
    State.COMPLETE_ABORT: _FROM_IDLE,
    State.PREPARE_EPOCH_FENCE: {Event.ABORTED: State.PREPARE_ABORT},
    State.DEAD: {},
}
