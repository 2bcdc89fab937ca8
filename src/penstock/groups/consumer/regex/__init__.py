"""Topic patterns as RE2 has them, matched in time that grows with the name's length, whatever the pattern.

Members send patterns, and the broker matches them on its event loop: an engine that goes back and tries again, as
Python's does, could be made to stop the broker by one pattern. RE2's syntax has nothing that needs going back.
"""
