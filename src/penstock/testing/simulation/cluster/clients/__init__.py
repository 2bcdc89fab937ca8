"""Clients of a simulated cluster: they go on whatever happens, and note what they were told."""
