"""Cases: tests of a pipeline in a YAML file beside it, run by `penstock pipeline test` (docs/testing.md)."""
