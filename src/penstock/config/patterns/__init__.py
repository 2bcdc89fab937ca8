"""Regular expressions of clients, in RE2's syntax, matched in time that is linear in the length of the text.

Kafka uses RE2, which guarantees that. Python's `re` backtracks: one pattern such as `(a+)+b` could stop the broker.
RE2's syntax has no constructs that need backtracking.
"""
