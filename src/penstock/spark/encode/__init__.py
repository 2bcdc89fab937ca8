"""Encoders turn rows into the bytes of records: the mirror of `decode`, with the same framing and registry.

An encoder is made on the driver from the type of a column: there its schema is read, inferred or looked up, and a type
that does not fit is refused. Workers then encode Arrow batches. Only `columns` uses Spark.
"""
