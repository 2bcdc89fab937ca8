"""Group members, each an unmodified client in a process of its own, controlled by its arguments.

A member subscribes, reads, commits, and writes one JSON object a line:
    {"event": "assigned", "partitions": [0, 2]}
    {"event": "processed", "records": [[partition, offset, value], ...]}   after their offsets were committed
    {"event": "refused", "error": "..."}                                   a commit failed: nothing was processed
It leaves the group and ends when its standard input is closed.
"""
