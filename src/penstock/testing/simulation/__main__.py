"""`python -m penstock.testing.simulation --seeds 0..2000`: run simulations, and print the seeds that fail.

`--level quorum` runs drivers on real logs over faulty disks, `--level cluster` whole brokers with clients. With
`--seed N` one run is repeated, with its traceback.
Exits with 1 when any run failed.
"""

import argparse
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from penstock.testing.simulation.broker import run_simulated
from penstock.testing.simulation.cluster.world import run_cluster
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.raft.drivers import SimulatedQuorum
from penstock.testing.simulation.raft.world import RaftWorld

_PROGRESS_S = 5.0
_FAILURES_MAX = 20
_CHUNK = 4
_VOTER_COUNTS = (3, 1, 3, 5)


Outcome = tuple[int, str | None, int]
"""A seed, what went wrong, and how many records were acknowledged."""


def run_raft(seed: int) -> Outcome:
    """The state machines alone, with every fault."""
    world = RaftWorld(seed)
    try:
        world.run()
    except Exception as error:  # noqa: BLE001 - whatever a run raises is a finding
        return seed, f"{type(error).__name__}: {error}", len(world.acked)
    return seed, None, len(world.acked)


def run_quorum(seed: int) -> Outcome:
    """Drivers on the real log and faulty disks."""

    async def run(loop: SimulatedLoop) -> int:
        quorum = SimulatedQuorum(loop, seed, voter_count=_VOTER_COUNTS[seed % len(_VOTER_COUNTS)])
        await quorum.run()
        return len(quorum.acked)

    logging.disable(logging.WARNING)  # recoveries tell what they cut
    try:
        acked, _ = run_simulated(seed, run)
    except Exception as error:  # noqa: BLE001 - whatever a run raises is a finding
        return seed, f"{type(error).__name__}: {error}", 0
    return seed, None, acked


def run_brokers(seed: int) -> Outcome:
    """Whole brokers that replicate, with clients."""
    try:
        cluster = run_cluster(seed)
    except Exception as error:  # noqa: BLE001 - whatever a run raises is a finding
        return seed, f"{type(error).__name__}: {error}", 0
    return seed, None, cluster.history.records.acknowledged_count


LEVELS: Mapping[str, Callable[[int], Outcome]] = {
    "raft": run_raft,
    "quorum": run_quorum,
    "cluster": run_brokers,
}


def parse_seeds(text: str) -> range:
    """`0..2000` is 0 to 1999; a single number is that one."""
    first, dots, end = text.partition("..")
    return range(int(first), int(end)) if dots else range(int(first), int(first) + 1)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m penstock.testing.simulation", description=__doc__)
    parser.add_argument("--seeds", type=parse_seeds, default=range(200), metavar="A..B", help="which to run")
    parser.add_argument("--seed", type=int, help="repeat this one, and show where it fails")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes to use")
    parser.add_argument("--level", choices=LEVELS, default="raft", help="what to run")
    given = parser.parse_args(arguments)
    if given.seed is not None and given.level == "raft":
        return _repeat(given.seed)
    if given.seed is not None and given.level == "cluster":
        return _repeat_brokers(given.seed)
    seeds = given.seeds if given.seed is None else range(given.seed, given.seed + 1)
    return _run_all(given.level, seeds, max(1, given.jobs))


def _repeat(seed: int) -> int:
    world = RaftWorld(seed)
    _say(f"seed {seed}: {world.plan}")
    try:
        world.run()
    except Exception:  # noqa: BLE001 - shown as it is
        traceback.print_exc()
        return 1
    _say(f"seed {seed} holds: {len(world.acked)} acknowledged, {world.fault_counts}")
    return 0


def _repeat_brokers(seed: int) -> int:
    try:
        cluster = run_cluster(seed)
    except Exception:  # noqa: BLE001 - shown as it is
        traceback.print_exc()
        return 1
    history = cluster.history
    _say(
        f"seed {seed} holds: {history.records.acknowledged_count} acknowledged, {dict(cluster.faults.counts)}"
    )
    _say(
        f"  {history.transactions.committed_count()} transactions committed, "
        f"{history.transactions.aborted_count()} aborted, {history.group.handover_count} partitions taken, "
        f"{len(history.replicas.groups)} groups of appends written together, "
        f"{dict(cluster.usage.admin.counts)}, {cluster.loop.time():.0f} virtual seconds"
    )
    return 0


def _run_all(level: str, seeds: range, jobs: int) -> int:
    began_s = said_s = time.monotonic()
    done = acknowledged = 0
    failed: list[int] = []
    with ProcessPoolExecutor(jobs) as pool:
        for seed, failure, acked in pool.map(LEVELS[level], seeds, chunksize=_CHUNK):
            done += 1
            acknowledged += acked
            if failure is not None:
                failed.append(seed)
                _say(f"seed {seed} FAILED: {failure}")
                _say(f"  replay: python -m penstock.testing.simulation --level {level} --seed {seed}")
                if len(failed) >= _FAILURES_MAX:
                    pool.shutdown(cancel_futures=True)
                    break
            now_s = time.monotonic()
            if now_s - said_s >= _PROGRESS_S:
                said_s = now_s
                _say(f"{done}/{len(seeds)} seeds, {len(failed)} failed, {now_s - began_s:.0f} s")
    took_s = time.monotonic() - began_s
    verdict = f"{len(failed)} failed: {failed}" if failed else "no violation"
    _say(f"{done} seeds in {took_s:.0f} s, {acknowledged} records acknowledged, {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
