"""Whether nodes of Apache Kafka are members of this cluster, which cannot prove a cluster secret (ADR 23)."""

from penstock.runtime.observers import Observers


class MixedCluster:
    """`is_mixed` follows the metadata. Before this node knows any, it is what the configuration or the log expects."""

    def __init__(self, *, is_mixed: bool = False) -> None:
        self.is_mixed = is_mixed
        self.changes: Observers[bool] = Observers()
        """Notified when `is_mixed` changes."""

    def change(self, *, is_mixed: bool) -> None:
        if is_mixed != self.is_mixed:
            self.is_mixed = is_mixed
            self.changes.notify(is_mixed)
