"""Faults of a simulated cluster: of processes, disks, networks and elections."""
