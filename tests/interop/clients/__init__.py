"""The clients under test, by name."""
