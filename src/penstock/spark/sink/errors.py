"""Errors of the sink. Their texts explain to users why a query stopped."""


class SinkError(Exception):
    """The base of all errors of the sink."""


class RowError(SinkError, ValueError):
    """A row, or the columns of a query, cannot become records."""


class WriteRefused(SinkError):
    """The broker refused records with an error that is not retriable."""


class DecisionTooLarge(SinkError):
    """A batch has more tasks than one decision has room for."""


class TransactionLost(SinkError):
    """A transaction was aborted before its batch was committed."""


class PartialCommit(TransactionLost):
    """A decided batch can no longer become visible as a whole."""


class Fenced(SinkError):
    """Another producer took over a transactional id. `exactly_once` handles it."""
