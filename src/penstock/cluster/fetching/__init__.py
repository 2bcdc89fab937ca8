"""Replica fetching: a follower's requests to its leaders, and the processing of the responses."""
