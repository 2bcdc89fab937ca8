"""Which tables a SQL query reads, found in its text without Spark.

Not a parser: a tokenizer that knows comments, strings and quoted names, and a walk over the tokens that keeps, for each
open parenthesis, whether it is a query (`SELECT` was seen) and which names its `WITH` defined. That is enough to tell
`FROM orders` from `EXTRACT(YEAR FROM at)` and `a IS DISTINCT FROM b`. Spark judges the rest.
"""

import re
from collections.abc import Iterator

import msgspec

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--[^\n]*)
  | (?P<string>[rR]?'(?:[^'\\]|\\.|'')*' | [rR]?"(?:[^"\\]|\\.|"")*")
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<word>[^\W\d]\w*)
  | (?P<number>\d[\w.]*)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# What ends the list of relations that FROM began: a comma after one of these begins no relation.
_AFTER_FROM = frozenset(
    {
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "OFFSET",
        "UNION",
        "EXCEPT",
        "MINUS",
        "INTERSECT",
        "WINDOW",
    }
    | {"QUALIFY", "CLUSTER", "DISTRIBUTE", "SORT", "SELECT", "VIEW", "PIVOT", "UNPIVOT"}
)
_QUERY_BEGINS = frozenset(("SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE"))
_NO_RELATION = _QUERY_BEGINS | {"LATERAL", "STREAM", "JOIN", "ON", "USING"}


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A table that the query reads, as it is written there (dots and all), and its line in the text (from 0)."""

    name: str
    line: int


class _Token(msgspec.Struct, frozen=True):
    kind: str  # word, quoted, other (one character)
    text: str  # words in upper case are compared with keywords; quoted names without their quotes
    line: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words


class _Frame:
    """An open parenthesis (or the text as a whole)."""

    __slots__ = ("begins_relation", "has_query", "in_relations", "is_first", "names", "pending_name")

    def __init__(self, *, begins_relation: bool, pending_name: str | None = None) -> None:
        self.begins_relation = begins_relation  # the next name is a table
        self.is_first = True
        self.has_query = False
        self.in_relations = False  # between FROM and what ends it: a comma begins the next table
        self.names: set[str] = set()  # what WITH has defined so far
        self.pending_name = pending_name  # the name that WITH defines with this parenthesis


def referenced_tables(query: str) -> list[Reference]:
    """The tables in the order of the text, each once; names that `WITH` defines are left out."""
    found: dict[str, Reference] = {}
    for reference in _walk(query):
        found.setdefault(reference.name.casefold(), reference)
    return list(found.values())


def _walk(query: str) -> list[Reference]:
    tokens = list(_tokens(query))
    found: list[Reference] = []
    frames = [_Frame(begins_relation=False)]
    at = 0
    while at < len(tokens):
        at = _step(tokens, at, frames, found)
    return found


def _step(tokens: list[_Token], at: int, frames: list[_Frame], found: list[Reference]) -> int:
    """Take the token at `at`, and give the place of the next one."""
    token, frame = tokens[at], frames[-1]
    was_first, frame.is_first = frame.is_first, False
    if token.text == "(" and token.kind == "other":
        inner = _Frame(begins_relation=frame.begins_relation, pending_name=_with_name(tokens, at, frame))
        inner.is_first = not (at > 0 and tokens[at - 1].is_word("TRIM"))  # `trim(FROM x)` is no query
        frames.append(inner)
        frame.begins_relation = False
        return at + 1
    if token.text == ")" and token.kind == "other":
        if len(frames) > 1:
            closed = frames.pop()
            if closed.pending_name is not None:
                frames[-1].names.add(closed.pending_name)
        return at + 1
    if frame.begins_relation and token.kind in {"word", "quoted"} and not token.is_word(*_NO_RELATION):
        return _take_relation(tokens, at, frames, found)
    if token.kind == "word" and not (at and tokens[at - 1].text == "."):
        _take_keyword(tokens, at, frame, was_first=was_first)
    elif token.text == "," and frame.in_relations:
        frame.begins_relation = True
    return at + 1


def _take_keyword(tokens: list[_Token], at: int, frame: _Frame, *, was_first: bool) -> None:
    word = tokens[at].text.upper()
    if word == "FROM":
        is_comparison = at > 0 and tokens[at - 1].is_word("DISTINCT") and _is_compared(tokens, at - 2)
        if (frame.has_query or was_first) and not is_comparison:
            frame.begins_relation = frame.in_relations = True
    elif word == "JOIN" or (word == "TABLE" and was_first):
        frame.begins_relation = True
    elif word == "LATERAL":
        is_view = at + 1 < len(tokens) and tokens[at + 1].is_word("VIEW")
        frame.in_relations = frame.in_relations and not is_view
    elif word in _AFTER_FROM:
        frame.in_relations = frame.begins_relation = False
    if word in {"SELECT", "FROM", "WITH"}:
        frame.has_query = frame.has_query or word == "SELECT" or was_first
    if word in {"WITH", "VALUES"} and was_first:
        frame.begins_relation = False


def _is_compared(tokens: list[_Token], at: int) -> bool:
    return at >= 0 and tokens[at].is_word("IS", "NOT")


def _take_relation(tokens: list[_Token], at: int, frames: list[_Frame], found: list[Reference]) -> int:
    """A name with its dots. A name before a parenthesis is a function, not a table."""
    first, parts, at = tokens[at], [tokens[at].text], at + 1
    while at + 1 < len(tokens) and tokens[at].text == "." and tokens[at + 1].kind in {"word", "quoted"}:
        parts.append(tokens[at + 1].text)
        at += 2
    frames[-1].begins_relation = False
    name = ".".join(parts)
    is_function = first.kind == "word" and at < len(tokens) and tokens[at].text == "("
    is_defined = any(name.casefold() in frame.names for frame in frames)
    if not is_function and not is_defined:
        found.append(Reference(name=name, line=first.line))
    return at


def _with_name(tokens: list[_Token], at: int, frame: _Frame) -> str | None:
    """The name in `name AS (` or `name (a, b) AS (` where a WITH list may stand; elsewhere such a shape is rare."""
    if not (at >= 2 and tokens[at - 1].is_word("AS")) or frame.in_relations:
        return None
    before = at - 2
    if tokens[before].text == ")":
        while before > 0 and tokens[before].text != "(":
            before -= 1
        before -= 1
    if before < 1 or tokens[before].kind not in {"word", "quoted"}:
        return None
    follows_with = tokens[before - 1].is_word("WITH", "RECURSIVE") or tokens[before - 1].text == ","
    if tokens[before - 1].is_word("RECURSIVE"):  # it may read itself
        frame.names.add(tokens[before].text.casefold())
    return tokens[before].text.casefold() if follows_with else None


def _tokens(query: str) -> Iterator[_Token]:
    """Words, quoted names and single characters; spaces, comments, strings and numbers only separate."""
    at, line = 0, 0
    while at < len(query):
        if query.startswith("/*", at):
            end = _comment_end(query, at)
            line += query.count("\n", at, end)
            at = end
            continue
        match = _TOKEN.match(query, at)
        assert match is not None
        kind, text = str(match.lastgroup), match[0]
        if kind in {"word", "other"}:
            yield _Token(kind, text, line)
        elif kind == "quoted":
            yield _Token(kind, text[1:-1].replace("``", "`"), line)
        elif kind in {"string", "number"}:
            yield _Token("literal", "", line)
        line += text.count("\n")
        at = match.end()


def _comment_end(query: str, at: int) -> int:
    """Block comments nest in Spark's SQL. One that is not closed reaches to the end."""
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(query, at):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return len(query)
