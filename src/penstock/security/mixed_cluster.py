"""Whether nodes of Apache Kafka are members of this cluster, which cannot prove a cluster secret (ADR 23)."""


class MixedCluster:
    """`is_mixed` follows the metadata. Before this node knows any, it is what the configuration expects."""

    __slots__ = ("is_mixed",)

    def __init__(self, *, is_mixed: bool = False) -> None:
        self.is_mixed = is_mixed
