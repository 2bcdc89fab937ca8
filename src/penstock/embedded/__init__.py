"""Brokers and clusters inside a Python process; `docs/embedded.md` shows how they are used."""

from penstock.embedded.broker import Broker
from penstock.embedded.cluster import Cluster
from penstock.embedded.topics import Record, Topic

__all__ = ["Broker", "Cluster", "Record", "Topic"]
