"""Split a stream of bytes into JSON objects, which may span several lines.

Pure: bytes in, texts out. A text ends where its outermost brace closes, so nothing has to follow it. What cannot be
the beginning of an object is dropped as soon as that is certain, and parsing resumes at the next line, or at a brace
that opens a line where no value is allowed: a client that forgot a brace continues with a new request.
"""

import re

import msgspec

DEPTH_MAX = 32

_OPENING = b"{"[0]
_NEWLINE = b"\n"[0]
_WHITESPACE = b" \t\r\n"
_IN_STRING = re.compile(rb'["\\\n]')
_NOT_WHITESPACE = re.compile(rb"[^ \t\r\n]")

# Numbers and the words true, false and null, and their beginnings.
_SCALAR = re.compile(rb"[-+.0-9A-Za-z]+")
_BEGINS_SCALAR = re.compile(
    rb"-|-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]*)?|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
)
_SCALAR_BYTES = b"-0123456789tfn"
_SCALAR_BYTES_MAX = 64

# What may stand next: the bytes of the structure, and v for a number or a word.
_KEY, _KEY_OR_END, _COLON = b'"', b'"}', b":"
_VALUE, _VALUE_OR_END = b'"{[v', b'"{[v]'
_DESCRIPTIONS = {
    _KEY: 'a name in "quotes"',
    _KEY_OR_END: 'a name in "quotes" or }',
    _COLON: "a colon",
    _VALUE: "a value",
    _VALUE_OR_END: "a value or ]",
    b",}": "a comma or }",
    b",]": "a comma or ]",
}


class Malformed(msgspec.Struct, frozen=True):
    """Bytes that were dropped, and why."""

    reason: str


class JsonStream:
    """Splits a stream into objects; keeps an incomplete object, of at most `text_bytes_max`."""

    __slots__ = (
        "_buffer",
        "_expected",
        "_in_string",
        "_is_skipping",
        "_nesting",
        "_position",
        "_text_bytes_max",
    )

    def __init__(self, text_bytes_max: int) -> None:
        self._text_bytes_max = text_bytes_max
        self._buffer = bytearray()
        self._position = 0  # everything before it was parsed
        self._nesting = bytearray()  # the brackets that are open
        self._expected = _KEY_OR_END
        self._in_string = False
        self._is_skipping = False  # up to the end of an invalid line

    @property
    def unfinished_bytes(self) -> int:
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes | Malformed]:
        """The objects that `data` completes, in order, with the errors in between."""
        self._buffer += data
        found: list[bytes | Malformed] = []
        while (item := self._next()) is not None:
            found.append(item)
        if len(self._buffer) > self._text_bytes_max:
            found.append(self._drop(f"the request is longer than {self._text_bytes_max} bytes"))
        return found

    def end(self) -> Malformed | None:
        """The error at the end of the stream, when an object is incomplete."""
        if self._is_skipping or not self._buffer.strip(_WHITESPACE):
            return None
        return Malformed("the connection ended in the middle of a request")

    def _next(self) -> bytes | Malformed | None:
        if self._is_skipping and not self._skip_line():
            return None
        if not self._nesting:
            start = _NOT_WHITESPACE.search(self._buffer)
            del self._buffer[: start.start() if start else None]
            if start is None:
                return None
            if self._buffer[0] != _OPENING:
                return self._drop("a request must be a JSON object and start with {")
            self._nesting.append(_OPENING)
            self._expected = _KEY_OR_END
            self._position = 1
        return self._scan()

    def _scan(self) -> bytes | Malformed | None:
        """Go on to the brace that closes the object; None when it has not arrived."""
        while True:
            if self._in_string:
                ended_by = self._skip_string()
                if ended_by is None:
                    return None
                if ended_by == _NEWLINE:
                    return self._drop("unterminated string")
                self._in_string = False
                self._expected = _COLON if self._expected in (_KEY, _KEY_OR_END) else self._after_value()
            match = _NOT_WHITESPACE.search(self._buffer, self._position)
            if match is None:
                self._position = len(self._buffer)
                return None
            at = match.start()
            byte = self._buffer[at]
            if _kind_of(byte) not in self._expected:
                return self._refuse(at, byte)
            if byte in _SCALAR_BYTES:
                problem = self._skip_scalar(at)
                if problem is not None or self._position == at:
                    return problem
                continue
            self._position = at + 1
            if byte == b'"'[0]:
                self._in_string = True
            elif byte in b"{[":
                if len(self._nesting) == DEPTH_MAX:
                    return self._drop(f"the request is nested more than {DEPTH_MAX} levels deep")
                self._nesting.append(byte)
                self._expected = _KEY_OR_END if byte == _OPENING else _VALUE_OR_END
            elif byte in b"}]":
                self._nesting.pop()
                if not self._nesting:
                    return self._take(at + 1)
                self._expected = self._after_value()
            elif byte == b":"[0]:
                self._expected = _VALUE
            else:
                self._expected = _KEY if self._nesting[-1] == _OPENING else _VALUE

    def _after_value(self) -> bytes:
        return b",}" if self._nesting[-1] == _OPENING else b",]"

    def _skip_string(self) -> int | None:
        """Go behind the quote that ends a string, or a newline, which cannot be in one; None when neither is there."""
        while (match := _IN_STRING.search(self._buffer, self._position)) is not None:
            at = match.start()
            if self._buffer[at] == b"\\"[0]:
                if at + 1 == len(self._buffer):  # the escaped byte has not arrived
                    self._position = at
                    return None
                self._position = at + 2
                continue
            self._position = at + 1
            return self._buffer[at]
        self._position = len(self._buffer)
        return None

    def _skip_scalar(self, at: int) -> Malformed | None:
        """Go behind a number or a word; stay in front of it when more of it may come."""
        match = _SCALAR.match(self._buffer, at, at + _SCALAR_BYTES_MAX)
        assert match is not None
        scalar = match.group()
        if not (_BEGINS_SCALAR.fullmatch(scalar) and len(scalar) < _SCALAR_BYTES_MAX):
            self._position = at + 1
            return self._drop("invalid value: expected a string, a number, true, false or null")
        self._position = at
        if match.end() < len(self._buffer):
            self._position = match.end()
            self._expected = self._after_value()
        return None

    def _refuse(self, at: int, byte: int) -> Malformed:
        """Drop an object because of a byte that JSON does not allow here."""
        begins_line = _NEWLINE in self._buffer[len(self._buffer[:at].rstrip(_WHITESPACE)) : at]
        if byte == _OPENING and begins_line:
            self._take(at)
            return Malformed("the object is not closed before the next one starts")
        self._position = at + 1
        named = chr(byte) if byte < 128 else "a non-ASCII byte"
        return self._drop(f"expected {_DESCRIPTIONS[self._expected]}, found {named}")

    def _take(self, size: int) -> bytes:
        """Remove the bytes that were parsed."""
        text = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._position = 0
        self._nesting.clear()
        self._in_string = False
        return text

    def _drop(self, reason: str) -> Malformed:
        """Resume at the next line."""
        # The position may stand behind a newline that ended a string: that line is over already.
        self._take(max(self._position - 1, 0))
        self._is_skipping = True
        self._skip_line()
        return Malformed(reason)

    def _skip_line(self) -> bool:
        """Drop the rest of an invalid line; False when its end has not arrived."""
        end = self._buffer.find(b"\n")
        if end < 0:
            self._buffer.clear()
            return False
        del self._buffer[: end + 1]
        self._is_skipping = False
        return True


def _kind_of(byte: int) -> int:
    return b"v"[0] if byte in _SCALAR_BYTES else byte
