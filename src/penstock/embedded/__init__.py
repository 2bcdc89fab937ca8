"""Brokers and clusters inside a Python process; `docs/embedded.md` shows how they are used."""

from penstock.embedded.broker import Broker

__all__ = ["Broker"]
