"""Mirrors: copies of another cluster's topics, with the same offsets and the same bytes (docs/mirror.md, ADR 26)."""
