"""Requests to the cluster that several pages share, each in as few round trips as possible."""
