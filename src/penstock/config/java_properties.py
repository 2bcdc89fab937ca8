r"""Java's .properties format, which Kafka's configuration files are written in.

A logical line is a natural line, or several joined by a backslash at the end. Blank lines and lines that begin with
`#` or `!` are left out. The key ends at the first unescaped `=`, `:` or white space; one `=` or `:` may follow with
white space around it. `\t \n \r \f \uXXXX` are escapes; any other escaped character stands for itself.
"""

from collections.abc import Iterator

from penstock.config.property import ConfigError

_SPACE = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse(text: str) -> dict[str, str]:
    """Give the keys and values of a file; a key that comes again replaces the earlier value, as in Java."""
    return dict(_split(number, line) for number, line in _logical_lines(text))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    parts: list[str] = []
    first = 0
    for number, natural in enumerate(text.splitlines(), start=1):
        line = natural.lstrip(_SPACE)
        if not parts:
            if not line or line[0] in "#!":
                continue
            first = number
        if _continues(line):
            parts.append(line[:-1])
            continue
        yield first, "".join([*parts, line])
        parts = []
    if parts:
        yield first, "".join(parts)


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(number: int, line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in _SPACE + "=:":
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_SPACE)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_SPACE)
    return _unescape(number, line[:end]), _unescape(number, rest)


def _unescape(number: int, text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\":
            out.append(text[at])
            at += 1
        elif text[at + 1 : at + 2] == "u":
            digits = text[at + 2 : at + 6]
            try:
                out.append(chr(int(digits, 16)))
            except ValueError:
                raise ConfigError(f"Line {number}: \\u{digits} is not a character") from None
            at += 6
        else:
            escaped = text[at + 1 : at + 2]
            out.append(_ESCAPES.get(escaped, escaped))
            at += 2
    return "".join(out)
