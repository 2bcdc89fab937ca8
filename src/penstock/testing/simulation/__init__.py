"""Whole clusters in one process, under one seed: virtual time, a network and disks that fail, crashes and restarts.

`python -m penstock.testing.simulation --seeds 0..2000` runs many; a failure prints the seed that replays it.
"""
