r"""Regular expressions of JSON Schemas, matched in time that is bounded by a number of steps.

Python's `re` backtracks: `(a|a)*b` takes forever on forty letters. Here a pattern becomes a nondeterministic automaton,
which is in several states at once, so no text takes more steps than states times characters. The dialect is that of
ECMA-262 with the flag `u`, which has `\p{L}` and in which `\d` is ASCII, and Java's `\pL`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    Test = Callable[[str], bool]

MOST_STATES, DEEPEST = 2_000, 40
"""The most states of a pattern, and the deepest nesting of its groups."""
_MOST_KEPT = 10_000
"""States in the moves that are kept of a pattern whose assertions look at nothing but the ends of a text."""
_COUNT = re.compile(r"\{(\d{1,6})(?:(,)(\d{0,6}))?\}")
_PROPERTY = re.compile(r"\{(?:(?:gc|General_Category)=)?(\w+)\}|([A-Z])")
_NAMES = {
    "Letter": "L", "Mark": "M", "Number": "N", "Punctuation": "P", "Symbol": "S", "Separator": "Z", "Other": "C",
    "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Decimal_Number": "Nd", "IsLetter": "L", "IsDigit": "Nd",
    "Lu": "Lu", "Ll": "Ll", "Lt": "Lt", "Lm": "Lm", "Lo": "Lo", "Mn": "Mn", "Mc": "Mc", "Me": "Me", "Nd": "Nd",
    "Nl": "Nl", "No": "No", "Pc": "Pc", "Pd": "Pd", "Ps": "Ps", "Pe": "Pe", "Pi": "Pi", "Pf": "Pf", "Po": "Po",
    "Sm": "Sm", "Sc": "Sc", "Sk": "Sk", "So": "So", "Zs": "Zs", "Zl": "Zl", "Zp": "Zp", "Cc": "Cc", "Cf": "Cf",
    "Co": "Co", "Cs": "Cs", "Cn": "Cn", **{name: name for name in "LMNPSZC"},
}  # fmt: skip
"""General categories of Unicode, by the names that patterns give them."""
_GROUP = re.compile(r"\?(?:([=!])|:|<[A-Za-z_$][\w$]*>)")
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}")


class UncheckedError(Exception):
    """A pattern that cannot be matched. The text is the reason."""


class Steps:
    """The steps that are left for the patterns of one value."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, count: int) -> None:
        """Take steps. UncheckedError if none are left."""
        self.left -= count
        if self.left < 0:
            raise UncheckedError("the text is too long for it")


class State(NamedTuple):
    """A state: it consumes a character that passes `test`, or tests a place and consumes nothing, or is free to leave.

    `place` is an assertion, such as "^", or a lookahead; `found` is whether the lookahead has to match.
    """

    nexts: tuple[int, ...]
    test: Test | None = None
    place: str | int | None = None
    found: bool = True


_MATCH = 0
"""The number of the state at which a pattern has matched."""


class _Move(NamedTuple):
    """The states after a character, the steps that it took, and whether the pattern had matched before it."""

    nexts: frozenset[int]
    steps: int
    has_matched: bool


class Pattern:
    """An automaton: its states, and the state in which it starts."""

    def __init__(self, text: str) -> None:
        self._states = [State(())]
        self._work = 0
        self._start = self._made(_Parser(text).read(), _MATCH)
        self._is_local = not any(isinstance(state.place, int) or state.place in ("b", "B") for state in self._states)
        self._known: dict[tuple[frozenset[int], str], _Move] = {}
        self._room = _MOST_KEPT

    def search(self, text: str, steps: Steps) -> bool:
        """Return whether a part of a text matches. UncheckedError if that takes more steps than are left."""
        return self._matches(self._start, text, 0, steps, at_start=False)

    def _matches(self, start: int, text: str, at: int, steps: Steps, *, at_start: bool) -> bool:
        again = () if at_start else (start,)
        current = frozenset((start,))
        for place in range(at, len(text)):
            move = self._known.get((current, text[place])) if place > 0 else None
            if move is None:
                move = self._move(current, text, place, steps.left)
                if self._is_local and place > 0 and self._room > 0:
                    self._known[current, text[place]] = move
                    self._room -= len(current) + len(move.nexts)
            steps.take(move.steps)
            if move.has_matched:
                return True
            current = move.nexts.union(again)
            if not current:
                return False
        last = self._move(current, text, len(text), steps.left)
        steps.take(last.steps)
        return last.has_matched

    def _move(self, current: frozenset[int], text: str, at: int, most: int) -> _Move:
        """Return what the character at a place does."""
        steps = Steps(most)
        reached = self._reached([*current], text, at, steps)
        char = text[at : at + 1]
        tests = ((self._states[number].test, self._states[number].nexts) for number in reached)
        nexts = frozenset(state for test, nexts in tests if test and char and test(char) for state in nexts)
        return _Move(nexts, most - steps.left, _MATCH in reached)

    def _reached(self, current: list[int], text: str, at: int, steps: Steps) -> set[int]:
        """Return the states that can be reached from these without a character."""
        reached: set[int] = set()
        while current:
            number = current.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            if state.test is None and (state.place is None or self._holds(state, text, at, steps)):
                current += state.nexts
        steps.take(len(reached))
        return reached

    def _holds(self, state: State, text: str, at: int, steps: Steps) -> bool:
        if state.place == "^":
            return at == 0
        if state.place == "$":
            return at == len(text)
        if isinstance(state.place, int):
            return self._matches(state.place, text, at, steps, at_start=True) == state.found
        before, after = (0 <= place < len(text) and _is_word(text[place]) for place in (at - 1, at))
        return (before != after) == (state.place == "b")

    # The states of a parsed pattern, from its end to its beginning.

    def _add(self, *nexts: int, test: Test | None = None, place: str | int | None = None, found: bool = True) -> int:
        if len(self._states) > MOST_STATES:
            raise UncheckedError("it is too large")
        self._states.append(State(nexts, test, place, found))
        return len(self._states) - 1

    def _made(self, node: Any, after: int) -> int:
        """Return the state in which a part of the pattern starts, if `after` is the state that follows it."""
        self._work += 1
        if self._work > 4 * MOST_STATES:
            raise UncheckedError("it is too large")
        kind, *parts = node
        if kind == "char":
            return self._add(after, test=parts[0])
        if kind == "place":
            return self._add(after, place=parts[0])
        if kind == "look":
            return self._add(after, place=self._made(parts[0], _MATCH), found=parts[1])
        if kind == "or":
            return self._add(*(self._made(part, after) for part in parts[0]))
        if kind == "all":
            for part in reversed(parts[0]):
                after = self._made(part, after)
            return after
        return self._repeated(parts[0], parts[1], parts[2], after)

    def _repeated(self, node: Any, least: int, most: int | None, after: int) -> int:
        start = after
        if most is None:
            start = self._add(after)
            self._states[start] = State((after, self._made(node, start)))
        for _ in range(0 if most is None else most - least):
            start = self._add(after, self._made(node, start))
        for _ in range(least):
            start = self._made(node, start)
        return start


@lru_cache(128)
def pattern_of(text: str) -> Pattern | str:
    """Return a pattern, or the reason why it cannot be matched."""
    try:
        return Pattern(text)
    except UncheckedError as error:
        return str(error)


class _Parser:
    """Parser of one pattern: nodes are tuples that begin with char, place, look, or, all or many."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def read(self) -> Any:
        """Return the node of the whole pattern."""
        node = self.choice(0)
        if self.at < len(self.text):
            raise UncheckedError(f"it has a {self.text[self.at]!r} too many")
        return node

    def take(self, text: str) -> bool:
        """Move on past a text if it comes next."""
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def next(self) -> str:
        """Return the next character, and move on."""
        if self.at >= len(self.text):
            raise UncheckedError("it ends early")
        self.at += 1
        return self.text[self.at - 1]

    def choice(self, depth: int) -> Any:
        """Return alternatives."""
        if depth > DEEPEST:
            raise UncheckedError("it nests too deeply")
        choices = [self.sequence(depth)]
        while self.take("|"):
            choices.append(self.sequence(depth))
        return choices[0] if len(choices) == 1 else ("or", choices)

    def sequence(self, depth: int) -> Any:
        """Return terms up to the end of an alternative."""
        terms = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            terms.append(self.repeated(self.term(depth)))
        return "all", terms

    def repeated(self, node: Any) -> Any:
        """Return a term with the quantifier that follows it."""
        if self.take("*"):
            least, most = 0, None
        elif self.take("+"):
            least, most = 1, None
        elif self.take("?"):
            least, most = 0, 1
        elif match := _COUNT.match(self.text, self.at):
            self.at = match.end()
            least = int(match[1])
            most = int(match[3]) if match[3] else None if match[2] else least
            if most is not None and most < least:
                raise UncheckedError(f"the counts of {match[0]} are the wrong way round")
        else:
            return node
        self.take("?")  # whether a part is long or short does not change whether the whole matches
        if self.text[self.at : self.at + 1] in ("*", "+"):
            raise UncheckedError("it repeats a repetition")
        return "many", node, least, most

    def term(self, depth: int) -> Any:
        """Return a character, an assertion or a group."""
        char = self.next()
        if char in "^$":
            return "place", char
        if char == ".":
            return "char", _is_in_line
        if char == "(":
            return self.group(depth)
        if char == "[":
            return "char", self.char_class()
        if char == "\\":
            if self.text[self.at : self.at + 1] in ("b", "B"):
                return "place", self.next()
            return "char", self.escape()
        if char in "*+?":
            raise UncheckedError(f"nothing stands before {char!r}")
        return "char", char.__eq__

    def group(self, depth: int) -> Any:
        """Return a group or a lookahead."""
        match = _GROUP.match(self.text, self.at)
        if match is None and self.text.startswith("?", self.at):
            raise UncheckedError(f"groups that begin with ({self.text[self.at : self.at + 2]} are unknown")
        self.at = match.end() if match else self.at
        node = self.choice(depth + 1)
        if not self.take(")"):
            raise UncheckedError("it lacks a ')'")
        return ("look", node, match[1] == "=") if match and match[1] else node

    def escape(self) -> Test:
        """Return the test of the character after a backslash."""
        char = self.next()
        if char in "dDwWsS":
            test: Test = {"d": _is_digit, "w": _is_word, "s": _is_space}[char.lower()]
            return test if char.islower() else partial(_is_not, test)
        if char in "pP":
            return self.category(inverted=char == "P")
        if char in "123456789k":
            raise UncheckedError("it refers back to a group")
        return self.escaped(char).__eq__

    def escaped(self, char: str) -> str:
        """Return the character that an escape stands for."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "c":
            return chr(ord(self.next()) % 32)
        if match := _HEX.match(self.text, self.at - 1):
            self.at = match.end()
            code = int(match[1] or match[2] or match[3], 16)
            if code > 0x10FFFF:
                raise UncheckedError(f"there is no character {match[0]}")
            return chr(code)
        if char.isascii() and char.isalnum():
            raise UncheckedError(f"\\{char} is unknown")
        return char

    def category(self, *, inverted: bool) -> Test:
        """Return the test of a general category of Unicode."""
        match = _PROPERTY.match(self.text, self.at)
        name = (match[1] or match[2]) if match else ""
        if match is None or name not in _NAMES:
            raise UncheckedError(f"the Unicode property {name!a} is unknown" if name else "\\p lacks a property")
        self.at = match.end()
        test = partial(_is_of, _NAMES[name])
        return partial(_is_not, test) if inverted else test

    def char_class(self) -> Test:
        """Return the test of the characters between square brackets."""
        inverted = self.take("^")
        singles: set[str] = set()
        ranges: list[tuple[str, str]] = []
        tests: list[Test] = []
        while not self.take("]"):
            first = self.class_atom(tests)
            if first is None:
                continue
            if self.text[self.at : self.at + 1] == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                last = self.class_atom(tests)
                if last is None:
                    singles |= {first, "-"}
                elif last < first:
                    raise UncheckedError(f"the range {first}-{last} is the wrong way round")
                else:
                    ranges.append((first, last))
            else:
                singles.add(first)
        test = partial(_is_among, frozenset(singles), tuple(ranges), tuple(tests))
        return partial(_is_not, test) if inverted else test

    def class_atom(self, tests: list[Test]) -> str | None:
        """Return a character of a class, None for a set of characters, which is added to the tests."""
        char = self.next()
        if char != "\\":
            return char
        char = self.next()
        if char in "dDwWsSpP":
            self.at -= 1
            tests.append(self.escape())
            return None
        return "\b" if char == "b" else self.escaped(char)


def _is_among(singles: frozenset[str], ranges: tuple[tuple[str, str], ...], tests: tuple[Test, ...], char: str) -> bool:
    return char in singles or any(first <= char <= last for first, last in ranges) or any(test(char) for test in tests)


def _is_not(test: Test, char: str) -> bool:
    return not test(char)


def _is_of(category: str, char: str) -> bool:
    return unicodedata.category(char).startswith(category)


def _is_in_line(char: str) -> bool:
    return char not in "\n\r\u2028\u2029"


def _is_digit(char: str) -> bool:
    return "0" <= char <= "9"


def _is_word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def _is_space(char: str) -> bool:
    return char in "\t\n\v\f\r \xa0\ufeff\u2028\u2029" or unicodedata.category(char) == "Zs"
