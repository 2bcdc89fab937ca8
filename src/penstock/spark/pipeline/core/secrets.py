"""Secrets: values that a pipeline file takes from other files, with `${file:/path}`. They are never printed.

The process remembers them, and every text for a person (problems, reasons of failures, explanations, events) passes
`redact`.
"""

_HIDDEN = "***"
_secrets: set[str] = set()


def remember_secret(value: str) -> None:
    if value:
        _secrets.add(value)


def redact(text: str) -> str:
    """Replace every secret in the text, the longest first: one may be part of another."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text
