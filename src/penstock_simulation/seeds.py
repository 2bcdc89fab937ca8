"""Randomness that a seed repeats. Each part of a simulation has its own, so that none changes the draws of another."""

from random import Random


def randomness(seed: int, purpose: str) -> Random:
    return Random(f"{purpose} {seed}")  # noqa: S311 - a failure must be replayable from its seed
