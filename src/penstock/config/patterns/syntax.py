r"""Parses a pattern in RE2's syntax.

alternation    a|b        group          (a) (?:a) (?P<n>a) (?<n>a)     flags     (?i) (?i:a)  of i m s U
repetition     a* a+ a? a{2} a{2,} a{2,5}, each also with a `?` behind it, which does not matter for whole matches
anchors        ^ $ \A \z \b \B
characters     .  [a-z] [^a-z] [[:alpha:]] \d \w \s \D \W \S \pL \p{Nd} \P{L} \n \x41 \x{41} \101 \Q...\E
"""

import string
import unicodedata
from collections.abc import Callable
from collections.abc import Sequence as Tests
from typing import Final

import msgspec

WORD: Final = frozenset(string.ascii_letters + string.digits + "_")

Test = Callable[[str], bool]
"""Whether a character is in a set."""

_REPEAT_MAX: Final = 1000  # as in RE2
_DEPTH_MAX: Final = 100
_CLASSES: Final = {"d": frozenset(string.digits), "w": WORD, "s": frozenset("\t\n\f\r ")}
_ASCII: Final = frozenset(map(chr, range(128)))
_POSIX: Final = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "ascii": _ASCII,
    "blank": frozenset("\t "),
    "cntrl": frozenset(c for c in _ASCII if not c.isprintable()),
    "digit": frozenset(string.digits),
    "graph": frozenset(string.ascii_letters + string.digits + string.punctuation),
    "lower": frozenset(string.ascii_lowercase),
    "print": frozenset(string.ascii_letters + string.digits + string.punctuation + " "),
    "punct": frozenset(string.punctuation),
    "space": frozenset(string.whitespace),
    "upper": frozenset(string.ascii_uppercase),
    "word": WORD,
    "xdigit": frozenset(string.hexdigits),
}
_CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANCHORS: Final = {"A": "start", "z": "end", "b": "boundary", "B": "no boundary"}
_CATEGORIES: Final = {
    "C": "cfos",
    "L": "lmotu",
    "M": "cen",
    "N": "dlo",
    "P": "cdefios",
    "S": "ckmo",
    "Z": "lps",
}


class InvalidPattern(Exception):
    """RE2 does not accept the pattern, or it is too large."""


class Chars(msgspec.Struct, frozen=True):
    """One character of a set."""

    test: Test


class Anchor(msgspec.Struct, frozen=True):
    """A position between characters. `kind` is start, end, boundary or no boundary."""

    kind: str


class Sequence(msgspec.Struct, frozen=True):
    """The parts one after the other; without parts, the empty text."""

    parts: tuple["Node", ...]


class Choice(msgspec.Struct, frozen=True):
    parts: tuple["Node", ...]


class Repeat(msgspec.Struct, frozen=True):
    part: "Node"
    least: int
    most: int | None


Node = Chars | Anchor | Sequence | Choice | Repeat


def parse(pattern: str) -> Node:
    """Raises `InvalidPattern`."""
    parser = _Parser(pattern)
    node = parser.choice(0)
    if not parser.is_at_end:
        raise InvalidPattern("unexpected )")
    return node


class _Parser:
    __slots__ = ("_at", "_dot_matches_newline", "_folds", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._folds = False  # whether case is ignored
        self._dot_matches_newline = False

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, wanted: str) -> bool:
        if not self._text.startswith(wanted, self._at):
            return False
        self._at += len(wanted)
        return True

    def _next(self, missing: str) -> str:
        if self.is_at_end:
            raise InvalidPattern(missing)
        self._at += 1
        return self._text[self._at - 1]

    def _until(self, end: str, missing: str) -> str:
        found = self._text.find(end, self._at)
        if found < 0:
            raise InvalidPattern(missing)
        taken, self._at = self._text[self._at : found], found + len(end)
        return taken

    # -- structure ------------------------------------------------------------------------------------

    def choice(self, depth: int) -> Node:
        if depth > _DEPTH_MAX:
            raise InvalidPattern("expression nests too deeply")
        flags = self._folds, self._dot_matches_newline
        parts = [self._sequence(depth)]
        while self._take("|"):
            parts.append(self._sequence(depth))
        self._folds, self._dot_matches_newline = flags  # they hold to the end of their group
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while not self.is_at_end and self._peek() not in "|)":
            if self._take("\\Q"):
                found = self._text.find("\\E", self._at)
                end = len(self._text) if found < 0 else found
                parts += [self._literal(each) for each in self._text[self._at : end]]
                self._at = end if found < 0 else end + 2
                if found >= 0 and parts:
                    parts[-1] = self._repeated(parts[-1])
                continue
            parts.append(self._repeated(self._atom(depth)))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, node: Node) -> Node:
        times = self._times()
        if times is None:
            return node
        self._take("?")
        again = self._at
        if self._times() is not None:
            raise InvalidPattern(f"invalid nested repetition operator: `{self._text[again : self._at]}`")
        return Repeat(node, *times)

    def _times(self) -> tuple[int, int | None] | None:
        if self._take("*"):
            return 0, None
        if self._take("+"):
            return 1, None
        if self._take("?"):
            return 0, 1
        return self._counted()

    def _counted(self) -> tuple[int, int | None] | None:
        """Parse `{2}`, `{2,}` or `{2,5}`; any other brace stands for itself."""
        end = self._text.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        low, comma, high = self._text[self._at + 1 : end].partition(",")
        if not _is_number(low) or (high and not _is_number(high)):
            return None
        least = int(low)
        most = least if not comma else int(high) if high else None
        if least > _REPEAT_MAX or (most is not None and (most > _REPEAT_MAX or most < least)):
            raise InvalidPattern(f"invalid repeat count: `{self._text[self._at : end + 1]}`")
        self._at = end + 1
        return least, most

    def _atom(self, depth: int) -> Node:
        char = self._next("")
        match char:
            case "(":
                return self._group(depth)
            case "[":
                return Chars(self._class())
            case ".":
                return Chars(_any if self._dot_matches_newline else _not_newline)
            case "^":
                return Anchor("start")
            case "$":
                return Anchor("end")
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise InvalidPattern(f"missing argument to repetition operator: `{char}`")
            case _:
                self._at -= 1
                if self._counted() is not None:
                    raise InvalidPattern("missing argument to repetition operator")
                self._at += 1
                return self._literal(char)

    def _group(self, depth: int) -> Node:
        flags = self._folds, self._dot_matches_newline
        is_look_behind = self._text.startswith(("?<=", "?<!"), self._at)
        if self._take("?P<") or (not is_look_behind and self._take("?<")):
            name = self._until(">", "invalid named capture")
            if not name or not name.replace("_", "a").isalnum():
                raise InvalidPattern(f"invalid named capture: `{name}`")
        elif self._take("?") and self._flags():
            return Sequence(())  # they hold for the rest of the group around
        node = self.choice(depth + 1)
        self._folds, self._dot_matches_newline = flags
        if not self._take(")"):
            raise InvalidPattern("missing closing )")
        return node

    def _flags(self) -> bool:
        """Parse `i-s:` or `i)`. Return whether it was the latter, which has no group of its own."""
        value = True
        begin = self._at
        while True:
            char = self._next("missing closing )")
            if char == "-" and value:
                value = False
            elif char == "i":
                self._folds = value
            elif char == "s":
                self._dot_matches_newline = value
            elif char in (":", ")"):
                return char == ")"
            elif char not in (
                "m",
                "U",
            ):  # greediness does not matter for whole matches; lines are not matched
                raise InvalidPattern(
                    f"invalid or unsupported Perl syntax: `(?{self._text[begin : self._at]}`"
                )

    # -- characters -----------------------------------------------------------------------------------

    def _literal(self, char: str) -> Chars:
        return Chars(self._fold(char.__eq__))

    def _fold(self, test: Test) -> Test:
        return (lambda c: test(c) or test(c.lower()) or test(c.upper())) if self._folds else test

    def _escape(self) -> Node:
        char = self._peek()
        if char in _ANCHORS:
            self._at += 1
            return Anchor(_ANCHORS[char])
        escaped = self._escaped()
        return self._literal(escaped) if isinstance(escaped, str) else Chars(self._fold(escaped))

    def _escaped(self) -> str | Test:
        """Parse the text after a backslash: one character, or a class."""
        char = self._next("trailing backslash at end of expression")
        if char.lower() in _CLASSES:
            known = _CLASSES[char.lower()].__contains__
            return known if char.islower() else _negate(known)
        if char in "pP":
            return self._category(negated=char == "P")
        if char == "x":
            return self._hexadecimal()
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self._peek() in tuple("01234567"):
                digits += self._next("")
            if char != "0" and len(digits) == 1:
                raise InvalidPattern(f"invalid escape sequence: `\\{char}`")  # it would refer back
            return chr(int(digits, 8))
        if char in _CONTROL:
            return _CONTROL[char]
        if char.isalnum() and char.isascii():
            raise InvalidPattern(f"invalid escape sequence: `\\{char}`")
        return char

    def _hexadecimal(self) -> str:
        missing = "invalid escape sequence: `\\x`"
        if self._take("{"):
            digits = self._until("}", missing)
        else:
            digits = self._next(missing) + self._next(missing)
        if not digits or not set(digits) <= set(string.hexdigits) or int(digits, 16) > 0x10FFFF:
            raise InvalidPattern(missing)
        return chr(int(digits, 16))

    def _category(self, *, negated: bool) -> Test:
        """Parse a Unicode category or script."""
        name = self._next("invalid character class range: `\\p`")
        if name == "{":
            name = self._until("}", "invalid character class range: `\\p{`")
        if name.startswith("^"):
            name, negated = name[1:], not negated
        test: Test
        if name == "Any":
            test = _any
        elif len(name) <= 2 and name[:1] in _CATEGORIES and name[1:] in _CATEGORIES[name[0]]:
            test = lambda c: unicodedata.category(c).startswith(name)  # noqa: E731
        elif len(name) > 2 and name[0].isupper() and name.replace("_", "").isalpha():
            test = lambda c: unicodedata.name(c, "").startswith(name.upper())  # noqa: E731
        else:
            raise InvalidPattern(f"invalid character class range: `\\p{{{name}}}`")
        return _negate(test) if negated else test

    def _class(self) -> Test:
        missing = "missing closing ]"
        negated = self._take("^")
        tests: list[Test] = []
        is_first = True
        while is_first or self._peek() != "]":
            is_first = False
            if self._take("[:"):
                tests.append(self._posix())
                continue
            low = self._class_part(missing)
            has_range = self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", "")
            if not has_range:
                tests.append(low.__eq__ if isinstance(low, str) else low)
                continue
            self._at += 1
            high = self._class_part(missing)
            if not isinstance(low, str) or not isinstance(high, str) or low > high:
                raise InvalidPattern("invalid character class range")
            tests.append(_range(low, high))
        self._at += 1
        test = self._fold(_any_of(tests))
        return _negate(test) if negated else test

    def _class_part(self, missing: str) -> str | Test:
        char = self._next(missing)
        return self._escaped() if char == "\\" else char

    def _posix(self) -> Test:
        name = self._until(":]", "invalid character class range: `[:`")
        known = _POSIX.get(name.removeprefix("^"))
        if known is None:
            raise InvalidPattern(f"invalid character class range: `[:{name}:]`")
        return _negate(known.__contains__) if name.startswith("^") else known.__contains__


def _any(_char: str) -> bool:
    return True


def _not_newline(char: str) -> bool:
    return char != "\n"


def _negate(test: Test) -> Test:
    return lambda c: not test(c)


def _range(low: str, high: str) -> Test:
    return lambda c: low <= c <= high


def _any_of(tests: Tests[Test]) -> Test:
    return lambda c: any(test(c) for test in tests)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4
