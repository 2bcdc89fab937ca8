"""Run simulations and print the seeds that fail: `python -m penstock_simulation --seeds 0..2000`.

`--level quorum` runs drivers on real logs over faulty disks, `--level cluster` whole brokers with clients, and
`--level mirror` a cluster that mirrors another one. `--seed N` repeats one run with its traceback. Exits with 1 when
any run failed.
"""

import argparse
import gc
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from penstock_simulation.broker import run_simulated
from penstock_simulation.cluster.world import run_cluster
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.mirror import run_mirror
from penstock_simulation.raft.quorum import SimulatedQuorum
from penstock_simulation.raft.world import RaftWorld

_PROGRESS_S = 5.0
_FAILURES_MAX = 20
_VOTER_COUNTS = (3, 1, 3, 5)

Summary = tuple[int, str]
"""How many records a run acknowledged, and more about the run."""


def run_raft(seed: int) -> Summary:
    """Run the state machines alone, with every fault."""
    world = RaftWorld(seed)
    world.run()
    return len(world.acked), f"faults={world.fault_counts} {world.plan}"


def run_quorum(seed: int) -> Summary:
    """Run drivers on real logs and faulty disks."""

    async def run(loop: SimulatedLoop) -> int:
        quorum = SimulatedQuorum(loop, seed, voter_count=_VOTER_COUNTS[seed % len(_VOTER_COUNTS)])
        await quorum.run()
        return len(quorum.acked)

    logging.disable(logging.WARNING)  # recoveries log every truncation
    acked, _ = run_simulated(seed, run)
    return acked, ""


def run_brokers(seed: int) -> Summary:
    """Run whole brokers that replicate, with clients."""
    cluster = run_cluster(seed)
    history = cluster.history
    return history.records.acknowledged_count, (
        f"transactions_committed={history.transactions.committed_count()} "
        f"transactions_aborted={history.transactions.aborted_count()} "
        f"partitions_assigned={history.group.assignment_count} "
        f"group_commits={len(history.replicas.group_commit_sizes)} virtual_s={cluster.loop.time():.0f} "
        f"faults={dict(cluster.faults.counts)} admin={dict(cluster.workload.admin.counts)}"
    )


def run_mirrored(seed: int) -> Summary:
    """Run a mirror between two clusters of whole brokers."""
    mirror = run_mirror(seed)
    return mirror.counts["batches"], f"is_forced={mirror.is_forced} {dict(mirror.counts)}"


LEVELS: Mapping[str, Callable[[int], Summary]] = {
    "raft": run_raft,
    "quorum": run_quorum,
    "cluster": run_brokers,
    "mirror": run_mirrored,
}


def parse_seeds(text: str) -> range:
    """`0..2000` is 0 to 1999; a single number is that one."""
    first, dots, end = text.partition("..")
    return range(int(first), int(end)) if dots else range(int(first), int(first) + 1)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m penstock_simulation", description=__doc__)
    parser.add_argument("--seeds", type=parse_seeds, default=range(200), metavar="A..B", help="seeds to run")
    parser.add_argument("--seed", type=int, help="repeat one seed and show where it fails")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes to use")
    parser.add_argument("--level", choices=LEVELS, default="raft", help="layer to simulate")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return _repeat(given.level, given.seed)
    return _run_all(given.level, given.seeds, max(1, given.jobs))


def _repeat(level: str, seed: int) -> int:
    try:
        acknowledged, summary = LEVELS[level](seed)
    except Exception:  # noqa: BLE001 - every exception is a finding
        traceback.print_exc()
        return 1
    _print(f"seed {seed} holds: {acknowledged} records acknowledged {summary}")
    return 0


def _run_one(level: str, seed: int) -> tuple[int, str | None, int]:
    """Return the seed, its failure and the number of acknowledged records."""
    try:
        return seed, None, LEVELS[level](seed)[0]
    except Exception as error:  # noqa: BLE001 - every exception is a finding
        return seed, f"{type(error).__name__}: {error}", 0


def _run_all(level: str, seeds: range, jobs: int) -> int:
    began_s = printed_s = time.monotonic()
    done = acknowledged = 0
    failed: list[int] = []
    with ProcessPoolExecutor(jobs) as pool:
        for finished in as_completed([pool.submit(_run_one, level, seed) for seed in seeds]):
            seed, failure, acked = finished.result()
            done += 1
            acknowledged += acked
            if failure is not None:
                failed.append(seed)
                _print(f"seed {seed} FAILED: {failure}")
                _print(f"  replay: python -m penstock_simulation --level {level} --seed {seed}")
                if len(failed) >= _FAILURES_MAX:
                    pool.shutdown(cancel_futures=True)
                    break
            now_s = time.monotonic()
            if now_s - printed_s >= _PROGRESS_S:
                printed_s = now_s
                _print(f"{done}/{len(seeds)} seeds, {len(failed)} failed, {now_s - began_s:.0f} s")
    took_s = time.monotonic() - began_s
    verdict = f"{len(failed)} failed: {sorted(failed)}" if failed else "no violation"
    _print(f"{done} seeds in {took_s:.0f} s, {acknowledged} records acknowledged, {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    gc.freeze()  # each run collects the garbage of the last: keep the imported modules out of it
    sys.exit(main())
