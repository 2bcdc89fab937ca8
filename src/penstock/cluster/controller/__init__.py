"""The controller: pure decisions on changes of cluster metadata, and the one place that carries them out."""

from penstock.cluster.controller.controller import Controller

__all__ = ["Controller"]
