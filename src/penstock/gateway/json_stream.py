"""Cut a stream of bytes into JSON objects, whether they stand on one line or are spread over several.

Pure: bytes in, texts out. A text ends where its outermost brace closes, so nothing has to follow it. What cannot be
the beginning of an object is given up as soon as that is certain, and reading goes on behind it: at the next line, or
at a brace that opens a line where no value can stand, because whoever forgot a brace goes on with a new request.
"""

import re

import msgspec

DEPTH_MAX = 32

_OPENING = b"{"[0]
_NEWLINE = b"\n"[0]
_WHITESPACE = b" \t\r\n"
_STRUCTURE = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'["\\\n]')
_NOT_WHITESPACE = re.compile(rb"[^ \t\r\n]")
_PARTNERS = {b"}"[0]: b"{"[0], b"]"[0]: b"["[0]}


class Malformed(msgspec.Struct, frozen=True):
    """Bytes that were given up, and why."""

    reason: str


class JsonStream:
    """Feed it what arrives; it keeps what is not a whole object yet, at most `text_bytes_max` of it."""

    __slots__ = ("_buffer", "_in_string", "_is_skipping", "_nesting", "_position", "_text_bytes_max")

    def __init__(self, text_bytes_max: int) -> None:
        self._text_bytes_max = text_bytes_max
        self._buffer = bytearray()
        self._position = 0  # everything before it was looked at
        self._nesting = bytearray()  # the brackets that are open
        self._in_string = False
        self._is_skipping = False  # up to the end of a line that was given up

    @property
    def unfinished_bytes(self) -> int:
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes | Malformed]:
        """The objects that `data` completes, in order, with what had to be given up in between."""
        self._buffer += data
        found: list[bytes | Malformed] = []
        while (item := self._next()) is not None:
            found.append(item)
        if len(self._buffer) > self._text_bytes_max:
            found.append(self._give_up(f"a request is longer than {self._text_bytes_max} bytes"))
        return found

    def end(self) -> Malformed | None:
        """What to say when no more bytes come: an object that was begun will never be whole."""
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
                return self._give_up("a request is a JSON object and begins with {")
            self._nesting.append(_OPENING)
            self._position = 1
        return self._scan()

    def _scan(self) -> bytes | Malformed | None:
        """Go on to the brace that closes the object; None when it has not arrived."""
        buffer = self._buffer
        while True:
            match = (_IN_STRING if self._in_string else _STRUCTURE).search(buffer, self._position)
            if match is None:
                self._position = len(buffer)
                return None
            at = match.start()
            byte = buffer[at]
            if byte == b"\\"[0]:
                if at + 1 == len(buffer):  # what it escapes has not arrived
                    self._position = at
                    return None
                self._position = at + 2
                continue
            self._position = at + 1
            if byte == b'"'[0]:
                self._in_string = not self._in_string
            elif byte == _NEWLINE:
                return self._give_up("a string has no end on its line")
            elif byte in _PARTNERS:
                if self._nesting.pop() != _PARTNERS[byte]:
                    return self._give_up(f"{chr(byte)} closes what was not opened")
                if not self._nesting:
                    return self._take(at + 1)
            else:
                problem = self._open(at, byte)
                if problem is not None:
                    return problem

    def _open(self, at: int, byte: int) -> Malformed | None:
        before = at - 1
        while self._buffer[before] in _WHITESPACE:
            before -= 1
        allowed = b":" if self._nesting[-1] == _OPENING else b"[,"
        if self._buffer[before] not in allowed:
            begins_line = _NEWLINE in self._buffer[before + 1 : at]
            if byte == _OPENING and begins_line:
                self._take(at)
                return Malformed("an object is not closed before the next one begins")
            return self._give_up(f"{chr(byte)} stands where no value can stand")
        if len(self._nesting) == DEPTH_MAX:
            return self._give_up(f"a request is nested deeper than {DEPTH_MAX}")
        self._nesting.append(byte)
        return None

    def _take(self, size: int) -> bytes:
        """Remove what was read so far and begin anew behind it."""
        text = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._position = 0
        self._nesting.clear()
        self._in_string = False
        return text

    def _give_up(self, reason: str) -> Malformed:
        """Begin anew at the line after the one that was being read."""
        # The position may stand behind a newline that ended a string: that line is over already.
        self._take(max(self._position - 1, 0))
        self._is_skipping = True
        self._skip_line()
        return Malformed(reason)

    def _skip_line(self) -> bool:
        """Drop the rest of a line that was given up; False when its end has not arrived."""
        end = self._buffer.find(b"\n")
        if end < 0:
            self._buffer.clear()
            return False
        del self._buffer[: end + 1]
        self._is_skipping = False
        return True
