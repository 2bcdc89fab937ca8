"""How much the comparison with peers does, in full or quick."""

import msgspec


class PeerScale(msgspec.Struct, frozen=True, kw_only=True):
    rounds: int
    warm_up_rounds: int  # of the first workloads: a JVM compiles what is used
    round_s: float  # how long a cell that is measured by time runs
    publishers: int
    paced_per_s: int
    fill_s: float  # a stream to be read is filled for so long,
    fill_messages: int  # or until it holds so many
    fan_out_messages: int
    fan_out_groups: int
    connections: int
    partition_counts: tuple[int, ...]
    grown_partitions: int  # cost per message is compared between 1 and so many
    starts: int
    recovery_s: float  # a stream is filled for so long before the kill,
    recovery_messages: int  # or until it holds so many, of 1 KiB
    recovery_within_s: float
    log_sizes_mib: tuple[int, ...]  # start after a clean stop, by size of the log


def full() -> PeerScale:
    return PeerScale(
        rounds=3,
        warm_up_rounds=1,
        round_s=2.0,
        publishers=64,
        paced_per_s=1_000,
        fill_s=6.0,
        fill_messages=500_000,
        fan_out_messages=20_000,
        fan_out_groups=10,
        connections=1_000,
        partition_counts=(1_000, 10_000),
        grown_partitions=1_000,
        starts=3,
        recovery_s=10.0,
        recovery_messages=1_000_000,
        recovery_within_s=60.0,
        log_sizes_mib=(16, 256, 2048),
    )


def quick() -> PeerScale:
    return PeerScale(
        rounds=1,
        warm_up_rounds=0,
        round_s=0.4,
        publishers=64,
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
    )
