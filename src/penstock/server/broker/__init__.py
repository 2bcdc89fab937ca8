"""A broker: its parts, how they start and stop, and its background tasks."""

from penstock.server.broker.broker import Broker, StartFailed

__all__ = ["Broker", "StartFailed"]
