"""How much a run does: every count, size and time of the workloads. The defaults are those of a full run."""

from typing import Final

import msgspec


class PeerScale(msgspec.Struct, frozen=True, kw_only=True):
    """How much the workloads beside other products do."""

    rounds: int = 3
    warm_up_rounds: int = 1  # of the first workloads: a JVM compiles the code that runs often
    round_s: float = 2.0  # duration of a timed measurement
    publishers: int = 64
    paced_per_s: int = 1_000
    fill_s: float = 6.0  # time to fill a stream that is read afterwards,
    fill_messages: int = 500_000  # or until it holds this many messages
    fan_out_messages: int = 20_000
    fan_out_groups: int = 10
    connections: int = 1_000
    partition_counts: tuple[int, ...] = (1_000, 10_000)
    grown_partitions: int = 1_000  # the cost per message is compared between 1 and this many partitions
    starts: int = 3
    recovery_s: float = 10.0  # time to fill a stream before the kill,
    recovery_messages: int = 1_000_000  # or until it holds this many messages of 1 KiB
    recovery_within_s: float = 60.0
    log_sizes_mib: tuple[int, ...] = (16, 256, 2048)  # start after a clean stop, by size of the log


class ClusterScale(msgspec.Struct, frozen=True, kw_only=True):
    """How much the workloads on three brokers do."""

    minutes_max: float = 60  # of the workloads with peers, too
    failovers: int = 6
    catch_up_bytes: int = 5_000_000_000
    partition_counts: tuple[int, ...] = (1_000, 5_000)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    name: str = "full"
    rounds: int = 5
    round_s: float = 1.5  # duration of a timed measurement
    bulk_messages: dict[int, int] = msgspec.field(  # number by their size in bytes
        default_factory=lambda: {100: 1_000_000, 1024: 300_000}
    )
    read_log_bytes: int = 1 << 30
    recovery_log_bytes: int = 5_000_000_000
    partition_counts: tuple[int, ...] = (1_000, 10_000)
    member_counts: tuple[int, ...] = (1, 1_000)
    commits_offered_per_s: int = 10_000
    starts: int = 7
    spark_rows: int = 2_000_000
    spark_latency_records: int = 50
    sql_rows: int = 10_000_000
    minutes_max: float = 25  # without peers and clusters
    peers: PeerScale = PeerScale()
    cluster: ClusterScale = ClusterScale()

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.rounds} rounds of {self.round_s:g} s, reads of {self.read_log_bytes >> 20} MiB, "
            f"recovery of {self.recovery_log_bytes / 1e9:g} GB; beside the peers {self.peers.rounds} rounds of "
            f"{self.peers.round_s:g} s"
        )


FULL: Final = Scale()
QUICK: Final = Scale(
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
    sql_rows=100_000,
    minutes_max=5,
    peers=PeerScale(
        rounds=1,
        warm_up_rounds=0,
        round_s=0.4,
        paced_per_s=200,
        fill_s=0.5,
        fill_messages=20_000,
        fan_out_messages=500,
        fan_out_groups=3,
        connections=100,
        partition_counts=(100,),
        grown_partitions=100,
        starts=1,
        recovery_s=0.5,
        recovery_messages=20_000,
        recovery_within_s=30.0,
        log_sizes_mib=(4,),
    ),
    cluster=ClusterScale(minutes_max=15, failovers=2, catch_up_bytes=20_000_000, partition_counts=(100,)),
)


def adjust(
    scale: Scale,
    *,
    rounds: int | None = None,
    seconds: float | None = None,
    minutes_max: float | None = None,
    log_gb: float | None = None,
) -> Scale:
    """Return the scale with the values of the command line instead of its own."""
    log_bytes = int(log_gb * 1e9) if log_gb else None
    timed = _given(rounds=rounds, round_s=seconds)
    return msgspec.structs.replace(
        scale,
        **timed,
        **_given(minutes_max=minutes_max, recovery_log_bytes=log_bytes),
        peers=msgspec.structs.replace(scale.peers, **timed),
        cluster=msgspec.structs.replace(scale.cluster, **_given(catch_up_bytes=log_bytes)),
    )


def _given(**values: float | None) -> dict[str, float]:
    return {name: value for name, value in values.items() if value}
