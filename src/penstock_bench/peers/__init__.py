"""Penstock beside other brokers: the same workloads, the same durability, clients in the same language.

`products/` has how each product is started, `cluster.py` runs its nodes, one or three. `targets.py` has the tables of
products and targets. `clients/` uses each product's own Python client, always in a process of its own (`agents.py`).
`wire.py` publishes with bytes built beforehand, where a thousand clients would measure themselves.
"""
