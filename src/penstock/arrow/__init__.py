"""Record batches as Arrow columns, for the pipeline and for SQL: no record becomes a Python object."""
