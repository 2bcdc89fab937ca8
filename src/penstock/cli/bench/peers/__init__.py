"""Penstock beside other brokers: the same workloads, the same durability, clients in the same language.

`servers/` starts each product on loopback, `clusters/` three nodes of it that are one cluster. `targets.py` is the
table of what is compared, a target being a server and the settings of a stream on it; `clusters/targets.py` is that of
clusters. `clients/` does the same few things with each product's own Python client, always in a process of its own
(`agent.py`); `wire/` does one thing, publishing, with bytes built beforehand, where a thousand clients would measure
themselves. The workloads are beside the others, in `workloads/peer_*.py` and `workloads/cluster_peers*.py`.
"""
