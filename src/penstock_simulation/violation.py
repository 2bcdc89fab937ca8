"""The finding of a simulation."""


class Violation(Exception):
    """An invariant was broken."""

    def __init__(self, invariant: str, detail: str) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant = invariant


class ViolationLog:
    """Keeps the first violation: raised in a node or a client, it would count as a failure of theirs."""

    def __init__(self) -> None:
        self.first: Violation | None = None

    def report(self, invariant: str, detail: str) -> None:
        self.first = self.first or Violation(invariant, detail)

    def check(self) -> None:
        """Raise the first `Violation`, if any."""
        if self.first is not None:
            raise self.first
