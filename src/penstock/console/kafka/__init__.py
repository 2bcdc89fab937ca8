"""Queries of the pages to a cluster, each in as few requests as possible."""
