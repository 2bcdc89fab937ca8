"""A whole cluster under a seed: real brokers that replicate, on a network and disks that fail."""
