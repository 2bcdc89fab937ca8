"""Randomness that a seed repeats. Each part of a simulation has its own: what one draws leaves the others alone."""

from random import Random


def randomness(seed: int, purpose: str) -> Random:
    return Random(f"{purpose} {seed}")  # noqa: S311 - a failure must be replayable from its seed
