"""Lines of text as records: what is the key, what the value, and which value is none. Pure."""

import msgspec

from penstock.cli.errors import EXIT_USAGE, CommandError


class LineError(Exception):
    """A line that is no record; the message says why."""


class RecordMaker(msgspec.Struct, frozen=True, kw_only=True):
    key: bytes | None = None
    key_separator: bytes | None = None
    null_value: bytes | None = None

    def make(self, line: bytes) -> tuple[bytes | None, bytes | None]:
        """Key and value of a line; its end, with or without a carriage return, belongs to neither."""
        text = line.removesuffix(b"\n").removesuffix(b"\r") if line.endswith(b"\n") else line
        key: bytes | None = self.key
        value: bytes | None = text
        if self.key_separator is not None:
            key, separator, value = text.partition(self.key_separator)
            if not separator:
                shown = self.key_separator.decode("utf-8", "backslashreplace")
                raise LineError(f"there is no key separator {shown!r}; it was not sent, nor what follows")
        return key, None if value == self.null_value else value


def parse_header(text: str) -> tuple[str, bytes | None]:
    """`name=value`; a name alone is a header whose value is null."""
    name, separator, value = text.partition("=")
    if not name:
        raise CommandError(f"--header {text!r} has no name: write it as NAME=VALUE", EXIT_USAGE)
    return name, value.encode() if separator else None
