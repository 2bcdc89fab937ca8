"""What the sink raises. Each text is for the person who reads why their query stopped."""


class SinkError(Exception):
    """The base of everything that the sink raises on purpose."""


class RowError(SinkError, ValueError):
    """A row, or the columns of a query, cannot become records."""


class WriteRefused(SinkError):
    """The broker did not take records, and would not take them again either."""


class DecisionTooLarge(SinkError):
    """A batch has more tasks than one decision has room for."""


class TransactionLost(SinkError):
    """A transaction ended in a way that its batch did not decide."""


class DecisionBroken(TransactionLost):
    """A decided batch can no longer become visible as a whole."""


class Fenced(SinkError):
    """Somebody else took over a transactional id. Raised between the layers of the sink; the protocol acts on it."""
