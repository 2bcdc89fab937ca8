"""Quotas of users and clients: which one applies, and how long to throttle."""
