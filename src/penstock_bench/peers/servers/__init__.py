"""Starts each product on loopback, a module each, and finds out whether it is installed."""
