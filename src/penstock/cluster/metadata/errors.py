"""Errors of cluster metadata."""


class MetadataError(Exception):
    """The metadata log holds something that cannot be applied: it is damaged, or from another kind of cluster."""
