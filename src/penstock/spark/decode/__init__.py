"""Decoders turn the bytes of a record into columns, or into a precise reason why they cannot.

A decoder works on whole Arrow batches in Python (`mapInArrow`). Spark's own `from_json` was measured: it is no faster,
accepts trailing text, NaN and invalid UTF-8, and parses twice when a filter follows. Avro and Protobuf would need jars.
Pure functions over bytes decide what is wrong with a record; only `frames` uses Spark.
"""
