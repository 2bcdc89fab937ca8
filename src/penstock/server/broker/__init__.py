"""A broker: its parts, how they start and stop, and the tasks that run by themselves."""

from penstock.server.broker.broker import Broker, StartFailed

__all__ = ["Broker", "StartFailed"]
