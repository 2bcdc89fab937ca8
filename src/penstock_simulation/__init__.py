"""Clusters in one process, under one seed: virtual time, networks and disks that fail, crashes and restarts.

`python -m penstock_simulation --seeds 0..2000` runs many; a failure prints the seed that replays it.
"""
