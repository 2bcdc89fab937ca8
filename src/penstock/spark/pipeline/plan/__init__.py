"""Compares a pipeline file with what its last runs left: checkpoints, state, tables, and the topics that they read.

A run records its queries beside the checkpoints (`record`). `compare` says of each query what goes on, what needs a
change, and what cannot go on, with the ways out; `reset` is one of them.
"""
