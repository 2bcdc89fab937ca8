"""OpenLineage events of a run: which datasets each output reads and writes (https://openlineage.io)."""
