"""A directory for the PYTHONPATH of Spark's workers: see `sitecustomize.py`."""
