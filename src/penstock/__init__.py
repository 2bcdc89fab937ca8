"""Penstock: a message broker in Python that speaks Kafka's protocol."""

__version__ = "0.1.0"
