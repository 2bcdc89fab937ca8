"""Penstock beside other brokers: the same workloads, the same durability, clients in the same language.

`servers/` starts each product on loopback, `clusters/` a cluster of three nodes. `targets.py` and `clusters/targets.py`
have the tables of targets: a server and the settings of a stream on it. `clients/` uses each product's own Python
client, always in a process of its own (`agent.py`). `wire/` publishes with bytes built beforehand, where a thousand
clients would measure themselves. The workloads are in `workloads/peers` and `workloads/cluster`.
"""
