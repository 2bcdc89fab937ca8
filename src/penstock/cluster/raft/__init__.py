"""The metadata quorum: Raft in KRaft's form (KIP-595), as state machines that perform no I/O.

`node.RaftNode` is given events and returns effects; `driver` performs them on the loop, the disk and the network.
"""
