"""Matching names with a pattern: an automaton that is in all of its states at once, and remembers what it saw.

A pattern becomes a list of steps. A name is read once; for every character the set of steps that are possible after it
is looked up, or worked out and kept. So a name costs one lookup for each of its characters, and what has to be worked
out is limited: a pattern that would need more is not taken.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from penstock.groups.consumer.regex.syntax import (
    WORD,
    Anchor,
    Chars,
    Choice,
    InvalidPattern,
    Node,
    Repeat,
    Sequence,
    parse,
)

_STEPS_MAX: Final = 5000
_WORK_MAX: Final = 500_000  # visits to steps; about a tenth of a second

_START, _OTHER, _IN_WORD = range(3)  # what lies before a place in the name
_MATCH: Final = -1


class _Read(msgspec.Struct, frozen=True, gc=False):
    chars: frozenset[str]
    then: int


class _Split(msgspec.Struct, frozen=True):
    then: list[int]


class _At(msgspec.Struct, frozen=True, gc=False):
    kind: str
    then: int


class _State:
    """A set of possible steps, and what is known of what follows it."""

    __slots__ = ("before", "is_match", "moves", "steps")

    def __init__(self, steps: frozenset[int], before: int) -> None:
        self.steps = steps
        self.before = before
        self.moves: dict[str, _State] = {}
        self.is_match: bool | None = None


class Matcher:
    """Whole names match, as in Kafka. Raises `InvalidPattern` when the pattern is not valid or too costly."""

    __slots__ = ("_begin", "_program", "_states", "_work")

    def __init__(self, pattern: str) -> None:
        self._program: list[_Read | _Split | _At] = []
        self._work = 0
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._begin = self._state(frozenset({self._compile(parse(pattern), _MATCH)}), _START)

    def matches(self, name: str) -> bool:
        state = self._begin
        for char in name:
            following = state.moves.get(char)
            if following is None:
                following = state.moves[char] = self._step(state, char)
            state = following
            if not state.steps:
                return False
        if state.is_match is None:
            state.is_match = _MATCH in self._reachable(state, None)
        return state.is_match

    # -- making the program, from its end to its beginning --------------------------------------------

    def _compile(self, node: Node, then: int) -> int:
        """Add the steps of `node`, after which comes `then`; gives the first of them."""
        match node:
            case Chars():
                return self._add(_Read(node.chars, then))
            case Anchor():
                return self._add(_At(node.kind, then))
            case Choice():
                return self._add(_Split([self._compile(each, then) for each in node.parts]))
            case Sequence():
                for each in reversed(node.parts):
                    then = self._compile(each, then)
                return then
            case Repeat():
                return self._compile_repeat(node, then)

    def _compile_repeat(self, node: Repeat, then: int) -> int:
        if node.most is None:
            loop: list[int] = []
            first = self._add(_Split(loop))
            loop += [self._compile(node.part, first), then]
            then = first
        else:
            for _ in range(node.most - node.least):
                then = self._add(_Split([self._compile(node.part, then), then]))
        for _ in range(node.least):
            then = self._compile(node.part, then)
        return then

    def _add(self, step: _Read | _Split | _At) -> int:
        if len(self._program) >= _STEPS_MAX:
            raise InvalidPattern("expression too large")
        self._program.append(step)
        return len(self._program) - 1

    # -- running it -----------------------------------------------------------------------------------

    def _state(self, steps: frozenset[int], before: int) -> _State:
        key = steps, before
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State(steps, before)
        return state

    def _step(self, state: _State, char: str) -> _State:
        following = set()
        for number in self._reachable(state, char):
            step = self._program[number] if number != _MATCH else None
            if isinstance(step, _Read) and char in step.chars:
                following.add(step.then)
        return self._state(frozenset(following), _IN_WORD if char in WORD else _OTHER)

    def _reachable(self, state: _State, char: str | None) -> Iterable[int]:
        """The steps that can be taken here without reading; `char` is what comes next, None at the end."""
        is_boundary = (state.before == _IN_WORD) != (char is not None and char in WORD)
        holds = {
            "start": state.before == _START,
            "end": char is None,
            "boundary": is_boundary,
            "no boundary": not is_boundary,
        }
        seen: set[int] = set()
        waiting = list(state.steps)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            if number == _MATCH:
                continue
            step = self._program[number]
            if isinstance(step, _Split):
                waiting += step.then
            elif isinstance(step, _At) and holds[step.kind]:
                waiting.append(step.then)
        self._work += len(seen)
        if self._work > _WORK_MAX:
            raise InvalidPattern("expression too costly to match")
        return seen
