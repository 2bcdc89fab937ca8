"""Where the checkers put what they find."""

from penstock.testing.simulation.raft.checker import Violation


class Verdict:
    """Keeps the first violation: nodes and clients would take an exception for a failure of theirs, and go on."""

    __slots__ = ("violation",)

    def __init__(self) -> None:
        self.violation: Violation | None = None

    def fail(self, invariant: str, detail: str) -> None:
        self.violation = self.violation or Violation(invariant, detail)

    def check(self) -> None:
        """Raise the `Violation` that has been seen, if any."""
        if self.violation is not None:
            raise self.violation
