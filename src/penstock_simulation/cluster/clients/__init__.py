"""Clients of a simulated cluster: they carry on after every failure, and report each answer to the checkers."""
