"""How much a run does: every count, size and time of the workloads, in full or quick."""

import msgspec

from penstock.cli.bench.peers import scale as peer_scale
from penstock.cli.bench.peers.scale import PeerScale


class ClusterScale(msgspec.Struct, frozen=True, kw_only=True):
    """How much the workloads on three brokers do."""

    minutes_max: float  # of the workloads with peers, too
    failovers: int
    catch_up_bytes: int
    partition_counts: tuple[int, ...]


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    rounds: int
    round_s: float  # how long a cell that is measured by time runs
    bulk_messages: dict[int, int]  # by message size
    read_log_bytes: int
    recovery_log_bytes: int
    partition_counts: tuple[int, ...]
    member_counts: tuple[int, ...]
    commits_offered_per_s: int
    starts: int
    spark_rows: int
    spark_latency_records: int
    minutes_max: float  # without peers and clusters
    peers: PeerScale
    cluster: ClusterScale

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.rounds} rounds of {self.round_s:g} s, reads of {self.read_log_bytes >> 20} MiB, "
            f"recovery of {self.recovery_log_bytes / 1e9:g} GB; beside the peers {self.peers.rounds} rounds of "
            f"{self.peers.round_s:g} s"
        )


def full() -> Scale:
    return Scale(
        name="full",
        rounds=5,
        round_s=1.5,
        bulk_messages={100: 1_000_000, 1024: 300_000},
        read_log_bytes=1 << 30,
        recovery_log_bytes=5_000_000_000,
        partition_counts=(1_000, 10_000),
        member_counts=(1, 1_000),
        commits_offered_per_s=10_000,
        starts=7,
        spark_rows=2_000_000,
        spark_latency_records=50,
        minutes_max=25,
        peers=peer_scale.full(),
        cluster=ClusterScale(
            minutes_max=60, failovers=6, catch_up_bytes=5_000_000_000, partition_counts=(1_000, 5_000)
        ),
    )


def quick() -> Scale:
    return Scale(
        name="quick",
        rounds=2,
        round_s=0.4,
        bulk_messages={100: 50_000, 1024: 20_000},
        read_log_bytes=64 << 20,
        recovery_log_bytes=200_000_000,
        partition_counts=(100, 1_000),
        member_counts=(1, 50),
        commits_offered_per_s=1_000,
        starts=2,
        spark_rows=100_000,
        spark_latency_records=10,
        minutes_max=5,
        peers=peer_scale.quick(),
        cluster=ClusterScale(minutes_max=15, failovers=2, catch_up_bytes=20_000_000, partition_counts=(100,)),
    )


def adjusted(
    scale: Scale,
    *,
    rounds: int | None = None,
    seconds: float | None = None,
    minutes_max: float | None = None,
    log_gb: float | None = None,
) -> Scale:
    """The scale with what was given on the command line instead of its own."""
    peers = msgspec.structs.replace(
        scale.peers,
        rounds=rounds or scale.peers.rounds,
        round_s=seconds or scale.peers.round_s,
    )
    log_bytes = int(log_gb * 1e9) if log_gb else None
    cluster = msgspec.structs.replace(scale.cluster, catch_up_bytes=log_bytes or scale.cluster.catch_up_bytes)
    return msgspec.structs.replace(
        scale,
        rounds=rounds or scale.rounds,
        round_s=seconds or scale.round_s,
        minutes_max=minutes_max or scale.minutes_max,
        recovery_log_bytes=log_bytes or scale.recovery_log_bytes,
        peers=peers,
        cluster=cluster,
    )
