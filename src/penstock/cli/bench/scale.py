"""How much a run does: every count, size and time of the workloads, in full or quick."""

import msgspec


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
    minutes_max: float

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.rounds} rounds of {self.round_s:g} s, reads of {self.read_log_bytes >> 20} MiB, "
            f"recovery of {self.recovery_log_bytes / 1e9:g} GB"
        )


def full(recovery_gb: float = 5.0) -> Scale:
    return Scale(
        name="full",
        rounds=5,
        round_s=1.5,
        bulk_messages={100: 1_000_000, 1024: 300_000},
        read_log_bytes=1 << 30,
        recovery_log_bytes=int(recovery_gb * 1e9),
        partition_counts=(1_000, 10_000),
        member_counts=(1, 1_000),
        commits_offered_per_s=10_000,
        starts=7,
        spark_rows=2_000_000,
        spark_latency_records=50,
        minutes_max=25,
    )


def quick(recovery_gb: float = 0.2) -> Scale:
    return Scale(
        name="quick",
        rounds=2,
        round_s=0.4,
        bulk_messages={100: 50_000, 1024: 20_000},
        read_log_bytes=64 << 20,
        recovery_log_bytes=int(recovery_gb * 1e9),
        partition_counts=(100, 1_000),
        member_counts=(1, 50),
        commits_offered_per_s=1_000,
        starts=2,
        spark_rows=100_000,
        spark_latency_records=10,
        minutes_max=5,
    )
