"""Matches texts with a pattern: an automaton that follows all possible steps at once, and caches its states.

A pattern becomes a list of steps. For every character of a text the set of possible next steps is looked up, or
computed and cached.
"""

from collections.abc import Callable, Iterable
from typing import Final, assert_never

import msgspec

from penstock.config.patterns.syntax import (
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

STEPS_MAX: Final = 500
_CACHED_STATES_MAX: Final = 10_000

_START, _OTHER, _IN_WORD = range(3)  # the kind of the previous character
_MATCH: Final = -1


class _Read(msgspec.Struct, frozen=True, gc=False):
    test: Callable[[str], bool]
    then: int


class _Split(msgspec.Struct, frozen=True):
    then: list[int]


class _At(msgspec.Struct, frozen=True, gc=False):
    kind: str
    then: int


class _State:
    """A set of possible steps, and the states that follow it."""

    __slots__ = ("before", "is_match", "moves", "steps")

    def __init__(self, steps: frozenset[int], before: int) -> None:
        self.steps = steps
        self.before = before
        self.moves: dict[str, _State] = {}
        self.is_match: bool | None = None


class Pattern:
    """Matches whole texts, as Kafka does. Raises `InvalidPattern` when the pattern is invalid or too large.

    `work_max` limits the visits to steps over all texts: when it is exceeded, `matches` raises `InvalidPattern`.
    """

    __slots__ = ("_begin", "_cached_count", "_program", "_states", "_steps_max", "_work", "_work_max")

    def __init__(self, pattern: str, *, steps_max: int = STEPS_MAX, work_max: int | None = None) -> None:
        self._program: list[_Read | _Split | _At] = []
        self._steps_max = steps_max
        self._work_max = work_max
        self._work = 0
        self._cached_count = 0
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._begin = frozenset({self._compile(parse(pattern), _MATCH)})

    def matches(self, text: str) -> bool:
        if self._cached_count > _CACHED_STATES_MAX:
            self._states.clear()
            self._cached_count = 0
        state = self._state(self._begin, _START)
        for char in text:
            following = state.moves.get(char)
            if following is None:
                following = state.moves[char] = self._step(state, char)
                self._cached_count += 1
            state = following
            if not state.steps:
                return False
        if state.is_match is None:
            state.is_match = _MATCH in self._reachable(state, None)
        return state.is_match

    # -- making the program, from its end to its beginning --------------------------------------------

    def _compile(self, node: Node, then: int) -> int:
        """Add the steps of `node`, after which comes `then`; return the first of them."""
        match node:
            case Chars():
                return self._add(_Read(node.test, then))
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
            case _:
                assert_never(node)

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
        if len(self._program) >= self._steps_max:
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
            if isinstance(step, _Read) and step.test(char):
                following.add(step.then)
        return self._state(frozenset(following), _IN_WORD if char in WORD else _OTHER)

    def _reachable(self, state: _State, char: str | None) -> Iterable[int]:
        """Return the steps that can be reached without reading; `char` comes next, None at the end."""
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
        if self._work_max is not None and self._work > self._work_max:
            raise InvalidPattern("expression too costly to match")
        return seen
