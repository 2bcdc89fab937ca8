r"""Reading a pattern: RE2's syntax, over the characters that a topic's name can have.

alternation    a|b        group          (a) (?:a) (?P<n>a) (?<n>a)     flags     (?i) (?i:a)  of i m s U
repetition     a* a+ a? a{2} a{2,} a{2,5}, each with a `?` behind it, which changes nothing here
anchors        ^ $ \A \z \b \B
characters     .  [a-z] [^a-z] [[:alpha:]] \d \w \s \D \W \S \pL \p{Nd} \P{L} \n \x41 \x{41} \101 \Q...\E
"""

import string
import unicodedata
from typing import Final

import msgspec

ALPHABET: Final = frozenset(string.ascii_letters + string.digits + "._-")
WORD: Final = frozenset(string.ascii_letters + string.digits + "_")

_DIGITS: Final = frozenset(string.digits)
_REPEAT_MAX: Final = 1000  # as in RE2
_DEPTH_MAX: Final = 100
_CLASSES: Final = {"d": _DIGITS, "w": WORD, "s": frozenset[str]()}
_POSIX: Final = {
    "alnum": frozenset(string.ascii_letters) | _DIGITS,
    "alpha": frozenset(string.ascii_letters),
    "ascii": ALPHABET,
    "blank": frozenset[str](),
    "cntrl": frozenset[str](),
    "digit": _DIGITS,
    "graph": ALPHABET,
    "lower": frozenset(string.ascii_lowercase),
    "print": ALPHABET,
    "punct": frozenset("._-"),
    "space": frozenset[str](),
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
    """A pattern that RE2 would not take either, or that is too large."""


class Chars(msgspec.Struct, frozen=True):
    """One character of these."""

    chars: frozenset[str]


class Anchor(msgspec.Struct, frozen=True):
    """No character: a place. `kind` is start, end, boundary or no boundary."""

    kind: str


class Sequence(msgspec.Struct, frozen=True):
    """One after the other; nothing at all when there are none."""

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
    __slots__ = ("_at", "_folds", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._folds = False  # whether case is ignored

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
        folds = self._folds
        parts = [self._sequence(depth)]
        while self._take("|"):
            parts.append(self._sequence(depth))
        self._folds = folds  # flags hold to the end of their group
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
        """`{2}`, `{2,}` or `{2,5}`; a brace that is nothing of that kind stands for itself."""
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
                return Chars(self._fold(self._class()))
            case ".":
                return Chars(ALPHABET)
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
        folds = self._folds
        is_look_behind = self._text.startswith(("?<=", "?<!"), self._at)
        if self._take("?P<") or (not is_look_behind and self._take("?<")):
            name = self._until(">", "invalid named capture")
            if not name or not name.replace("_", "a").isalnum():
                raise InvalidPattern(f"invalid named capture: `{name}`")
        elif self._take("?") and self._flags():
            return Sequence(())  # they hold for the rest of the group around
        node = self.choice(depth + 1)
        self._folds = folds
        if not self._take(")"):
            raise InvalidPattern("missing closing )")
        return node

    def _flags(self) -> bool:
        """Read `i-s:` or `i)`; whether it was the latter, which has no group of its own."""
        value = True
        begin = self._at
        while True:
            char = self._next("missing closing )")
            if char == "-" and value:
                value = False
            elif char == "i":
                self._folds = value
            elif char in (":", ")"):
                return char == ")"
            elif char not in ("m", "s", "U"):  # there are no lines in a name, and a name matches whole or not
                raise InvalidPattern(
                    f"invalid or unsupported Perl syntax: `(?{self._text[begin : self._at]}`"
                )

    # -- characters -----------------------------------------------------------------------------------

    def _literal(self, char: str) -> Chars:
        return Chars(self._fold(frozenset(char)))

    def _fold(self, chars: frozenset[str]) -> frozenset[str]:
        if self._folds:
            chars = chars | {c.lower() for c in chars} | {c.upper() for c in chars}
        return chars & ALPHABET

    def _escape(self) -> Node:
        char = self._peek()
        if char in _ANCHORS:
            self._at += 1
            return Anchor(_ANCHORS[char])
        return Chars(self._fold(self._escaped()))

    def _escaped(self) -> frozenset[str]:
        """What a backslash begins: a class, or one character."""
        char = self._next("trailing backslash at end of expression")
        if char.lower() in _CLASSES:
            known = _CLASSES[char.lower()]
            return known if char.islower() else ALPHABET - known
        if char in "pP":
            return self._category(negated=char == "P")
        if char == "x":
            return frozenset(self._hexadecimal())
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self._peek() in tuple("01234567"):
                digits += self._next("")
            if char != "0" and len(digits) == 1:
                raise InvalidPattern(f"invalid escape sequence: `\\{char}`")  # it would refer back
            return frozenset(chr(int(digits, 8)))
        if char in _CONTROL:
            return frozenset(_CONTROL[char])
        if char.isalnum() and char.isascii():
            raise InvalidPattern(f"invalid escape sequence: `\\{char}`")
        return frozenset(char)

    def _hexadecimal(self) -> str:
        missing = "invalid escape sequence: `\\x`"
        if self._take("{"):
            digits = self._until("}", missing)
        else:
            digits = self._next(missing) + self._next(missing)
        if not digits or not set(digits) <= set(string.hexdigits) or int(digits, 16) > 0x10FFFF:
            raise InvalidPattern(missing)
        return chr(int(digits, 16))

    def _category(self, *, negated: bool) -> frozenset[str]:
        """A Unicode category, or a script: of those, names have Latin letters only."""
        name = self._next("invalid character class range: `\\p`")
        if name == "{":
            name = self._until("}", "invalid character class range: `\\p{`")
        if name.startswith("^"):
            name, negated = name[1:], not negated
        if name == "Any":
            chars = ALPHABET
        elif len(name) <= 2 and name[:1] in _CATEGORIES and name[1:] in _CATEGORIES[name[0]]:
            chars = frozenset(c for c in ALPHABET if unicodedata.category(c).startswith(name))
        elif len(name) > 2 and name[0].isupper() and name.replace("_", "").isalpha():
            chars = _POSIX["alpha"] if name == "Latin" else frozenset()
        else:
            raise InvalidPattern(f"invalid character class range: `\\p{{{name}}}`")
        return ALPHABET - chars if negated else chars

    def _class(self) -> frozenset[str]:
        missing = "missing closing ]"
        negated = self._take("^")
        chars: set[str] = set()
        is_first = True
        while is_first or self._peek() != "]":
            is_first = False
            if self._take("[:"):
                chars |= self._posix()
                continue
            low = self._class_part(missing)
            has_range = self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", "")
            if not has_range:
                chars |= low
                continue
            self._at += 1
            high = self._class_part(missing)
            if len(low) != 1 or len(high) != 1 or min(low) > min(high):
                raise InvalidPattern("invalid character class range")
            chars |= {c for c in ALPHABET if min(low) <= c <= min(high)}
        self._at += 1
        found = self._fold(frozenset(chars))
        return ALPHABET - found if negated else found

    def _class_part(self, missing: str) -> frozenset[str]:
        char = self._next(missing)
        return self._escaped() if char == "\\" else frozenset(char)

    def _posix(self) -> frozenset[str]:
        name = self._until(":]", "invalid character class range: `[:`")
        known = _POSIX.get(name.removeprefix("^"))
        if known is None:
            raise InvalidPattern(f"invalid character class range: `[:{name}:]`")
        return ALPHABET - known if name.startswith("^") else known


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4
