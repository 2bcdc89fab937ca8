"""Regular expressions that clients send, matched in time that is linear in the text.

Kafka uses RE2 for them, which promises that. Python's `re` does not: `(a+)+b` takes it years on a long run of `a`, and
with it the whole broker. So `re` only parses here, and what it found is run as an automaton that is in all its
states at once. What RE2 does not know, as references to groups and looking around, is refused.
"""

import re
import warnings
from collections.abc import Callable
from re import _constants as found  # type: ignore[attr-defined]  # has no stub; the names of what the parser finds
from re import _parser as parser  # type: ignore[attr-defined]  # likewise; the parser behind `re.compile`
from typing import Any

_LENGTH_MAX = 1000
_STATES_MAX = 500

Test = Callable[[str], bool]
_CATEGORIES: dict[Any, re.Pattern[str]] = {
    found.CATEGORY_DIGIT: re.compile(r"\d"),
    found.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    found.CATEGORY_SPACE: re.compile(r"\s"),
    found.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    found.CATEGORY_WORD: re.compile(r"\w"),
    found.CATEGORY_NOT_WORD: re.compile(r"\W"),
}
_BEGINNINGS = (found.AT_BEGINNING, found.AT_BEGINNING_STRING)
_ENDS = (found.AT_END, found.AT_END_STRING)


class InvalidPattern(Exception):
    """The pattern is malformed, or of a kind that is not taken; the message says which."""


class _State:
    """Goes on over one character, or over none when the place is right."""

    __slots__ = ("is_here", "successors", "test")

    def __init__(self, test: Test | None = None, is_here: Callable[[bool, bool], bool] | None = None) -> None:
        self.test = test
        self.is_here = is_here
        self.successors: list[_State] = []


class Pattern:
    """Raises `InvalidPattern`."""

    def __init__(self, text: str) -> None:
        if len(text) > _LENGTH_MAX:
            raise InvalidPattern(f"it is longer than {_LENGTH_MAX} characters")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = parser.parse(text)
            self._state_count = 0
            self._end = _State()
            self._begin = self._build(tree, self._end, bool(tree.state.flags & re.IGNORECASE))
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidPattern(str(error)) from None

    def matches(self, text: str) -> bool:
        """Whether the pattern fits the whole text."""
        states = self._reach([self._begin], is_first=True, is_last=not text)
        for position, character in enumerate(text):
            over = [
                s
                for each in states
                if each.test is not None and each.test(character)
                for s in each.successors
            ]
            if not over:
                return False
            states = self._reach(over, is_first=False, is_last=position == len(text) - 1)
        return self._end in states

    @staticmethod
    def _reach(states: list[_State], *, is_first: bool, is_last: bool) -> set[_State]:
        """These and all that can be reached from them without a character."""
        reached: set[_State] = set()
        while states:
            state = states.pop()
            if state in reached:
                continue
            reached.add(state)
            if state.test is None and (state.is_here is None or state.is_here(is_first, is_last)):
                states += state.successors
        return reached

    # -- from the parser's tree to states, back to front --------------------------------------------------

    def _state(self, *successors: _State, test: Test | None = None) -> _State:
        self._state_count += 1
        if self._state_count > _STATES_MAX:
            raise InvalidPattern("it has too many repetitions")
        state = _State(test)
        state.successors += successors
        return state

    def _build(self, tree: Any, then: _State, ignores_case: bool) -> _State:
        for kind, what in reversed(list(tree)):
            then = self._build_one(kind, what, then, ignores_case)
        return then

    def _build_one(self, kind: Any, what: Any, then: _State, ignores_case: bool) -> _State:
        test = _test_for(kind, what)
        if test is not None:
            return self._state(then, test=_for_any_case(test) if ignores_case else test)
        if kind is found.SUBPATTERN:
            _, added, removed, inner = what
            inherits = ignores_case and not removed & re.IGNORECASE
            return self._build(inner, then, inherits or bool(added & re.IGNORECASE))
        if kind is found.BRANCH:
            return self._state(*(self._build(each, then, ignores_case) for each in what[1]))
        if kind in (found.MAX_REPEAT, found.MIN_REPEAT):
            low, high, inner = what
            return self._repeat(low, high, inner, then, ignores_case)
        if kind is found.AT and what in (*_BEGINNINGS, *_ENDS):
            state = self._state(then)
            state.is_here = (lambda first, _: first) if what in _BEGINNINGS else (lambda _, last: last)
            return state
        raise InvalidPattern(f"{str(kind).lower()} is not supported")

    def _repeat(self, low: int, high: int, tree: Any, then: _State, ignores_case: bool) -> _State:
        if high is found.MAXREPEAT:
            loop = self._state(then)
            loop.successors.append(self._build(tree, loop, ignores_case))
            then = loop
        else:
            for _ in range(high - low):
                then = self._state(then, self._build(tree, then, ignores_case))
        for _ in range(low):
            then = self._build(tree, then, ignores_case)
        return then


def _test_for(kind: Any, what: Any) -> Test | None:
    """What one character must be; None for what is not about one character."""
    if kind is found.LITERAL:
        return lambda character: ord(character) == what
    if kind is found.NOT_LITERAL:
        return lambda character: ord(character) != what
    if kind is found.ANY:
        return lambda character: character != "\n"
    if kind is found.RANGE:
        return lambda character: what[0] <= ord(character) <= what[1]
    if kind is found.CATEGORY:
        return lambda character: _CATEGORIES[what].match(character) is not None
    if kind is found.IN:
        is_negated = what[0][0] is found.NEGATE
        tests = [test for each in what if (test := _test_for(*each)) is not None]
        return lambda character: any(test(character) for test in tests) != is_negated
    return None


def _for_any_case(test: Test) -> Test:
    return lambda character: test(character.lower()) or test(character.upper())
