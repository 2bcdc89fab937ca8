"""The states of a transactional id and every way from one to another: there is no other place that names them.

Empty              its producer has an id and an epoch, and no transaction yet.
Ongoing            a transaction has partitions; ends on request, by its timeout, or when its producer is replaced.
PrepareCommit      the decision to commit is in the log: it will be carried out whatever happens.
PrepareAbort       likewise to abort.
CompleteCommit     every partition has its marker.
CompleteAbort      likewise.
Dead               forgotten after a long silence.
PrepareEpochFence  the producer is being fenced so that its transaction can be aborted; passed through, never stored.
"""

import enum
from collections.abc import Mapping


class State(enum.IntEnum):
    """The numbers are those of the log's records."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def shown_as(self) -> str:
        """The name that clients are told, and filter by."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def is_prepared(self) -> bool:
        return self in (State.PREPARE_COMMIT, State.PREPARE_ABORT)

    @property
    def is_at_rest(self) -> bool:
        """Whether no transaction is open: a producer may come, a new transaction begin, the id be forgotten."""
        return self in (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


STATE_NAMES: Mapping[str, State] = {state.shown_as: state for state in State}


class Event(enum.Enum):
    """What moves a transactional id on."""

    INITIALIZED = "a producer asked for its id and epoch"
    PARTITIONS_ADDED = "partitions were added, by request or by the first records in them"
    COMMITTED = "the producer decided to commit"
    ABORTED = "the producer, or the coordinator for it, decided to abort"
    FENCED = "the transaction took too long, or another producer took over the id"
    MARKERS_WRITTEN = "every partition has its marker"
    EXPIRED = "nobody used the id for long"


TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.EMPTY: {
        Event.INITIALIZED: State.EMPTY,
        Event.PARTITIONS_ADDED: State.ONGOING,
        Event.ABORTED: State.PREPARE_ABORT,  # KIP-890: an abort of nothing still raises the epoch
        Event.EXPIRED: State.DEAD,
    },
    State.ONGOING: {
        Event.PARTITIONS_ADDED: State.ONGOING,
        Event.COMMITTED: State.PREPARE_COMMIT,
        Event.ABORTED: State.PREPARE_ABORT,
        Event.FENCED: State.PREPARE_EPOCH_FENCE,
    },
    State.PREPARE_COMMIT: {Event.MARKERS_WRITTEN: State.COMPLETE_COMMIT},
    State.PREPARE_ABORT: {Event.MARKERS_WRITTEN: State.COMPLETE_ABORT},
    State.COMPLETE_COMMIT: {
        Event.INITIALIZED: State.EMPTY,
        Event.PARTITIONS_ADDED: State.ONGOING,
        Event.ABORTED: State.PREPARE_ABORT,
        Event.EXPIRED: State.DEAD,
    },
    State.COMPLETE_ABORT: {
        Event.INITIALIZED: State.EMPTY,
        Event.PARTITIONS_ADDED: State.ONGOING,
        Event.ABORTED: State.PREPARE_ABORT,
        Event.EXPIRED: State.DEAD,
    },
    State.PREPARE_EPOCH_FENCE: {Event.ABORTED: State.PREPARE_ABORT},
    State.DEAD: {},
}
