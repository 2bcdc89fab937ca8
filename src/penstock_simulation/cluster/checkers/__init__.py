"""The invariants, one checker for each area. Checkers keep their knowledge outside all nodes: it survives crashes."""
