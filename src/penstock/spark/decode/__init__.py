"""Decoders: the bytes of a record become columns, or a precise reason why they cannot.

A decoder sees whole Arrow batches in Python (`mapInArrow`). Spark's own `from_json` was measured and is no faster, lets
trailing text, NaN and invalid UTF-8 pass, and parses twice as soon as a filter follows; and there is none for Avro and
Protobuf without jars. One way for all of them, therefore. What can be wrong with a record is decided by pure functions
over bytes; only `frames` knows Spark.
"""

from penstock.spark.decode.frames import decode
from penstock.spark.decode.values import DecoderError

__all__ = ["DecoderError", "decode"]
