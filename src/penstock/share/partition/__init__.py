"""The state machine of one share partition (KIP-932): the owner, the delivery count and the state of its records.

Pure: the time is an argument, and changes to write are return values. Other packages use `SharePartition` only.
"""
