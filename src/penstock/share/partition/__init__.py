"""The state machine of one share partition (KIP-932): who has which records, how often each was given, what is done.

Pure: values in, values out; the time is an argument, and what must be written is returned. `SharePartition` is all
that the rest of the broker sees of it.
"""
