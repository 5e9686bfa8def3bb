"""S-expressions with their places: the concrete syntax of rule files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

type Expr = Atom | Form

MAX_DEPTH = 100  # of brackets; more overruns the stack, here and in the engine


class RuleFileError(ValueError):
    """A rule file that is refused; the message is `file:line:col: what`."""


@dataclass(frozen=True, slots=True)
class Place:
    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def error(self, message: str) -> RuleFileError:
        return RuleFileError(f"{self}: {message}")


@dataclass(frozen=True, slots=True)
class Atom:
    """A symbol, number or string literal; strings keep their quotes in `text`."""

    text: str
    place: Place

    @property
    def is_string(self) -> bool:
        return self.text.startswith('"')

    @property
    def is_number(self) -> bool:
        return bool(re.fullmatch(r"-?(\d+(\.\d*)?|inf)|NaN", self.text))

    @property
    def is_symbol(self) -> bool:
        return not (self.is_string or self.is_number)

    @property
    def string(self) -> str:
        return self.text[1:-1]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Form:
    """A parenthesised list."""

    items: tuple[Expr, ...]
    place: Place

    @property
    def head(self) -> str:
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Atom) else ""

    @property
    def args(self) -> tuple[Expr, ...]:
        return self.items[1:]

    def __str__(self) -> str:
        return f"({' '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class Comment:
    """A line comment, with its semicolons."""

    text: str
    place: Place


_TOKEN = re.compile(r'[\s]+|;[^\n]*|"(?:[^"\\\n]|\\.)*"|[()]|[^\s()";]+')


def _tokens(text: str, file: str) -> Iterator[tuple[str, Place]]:
    at, line, start = 0, 1, 0
    while at < len(text):
        m = _TOKEN.match(text, at)
        place = Place(file, line, at - start + 1)
        if m is None:
            raise place.error("a string was opened and not closed; add a '\"'")
        token = m.group()
        if not token.isspace():
            yield token, place
        if "\n" in token:
            line, start = line + token.count("\n"), at + token.rindex("\n") + 1
        at = m.end()


def parse(text: str, file: str) -> list[Expr | Comment]:
    """The top-level expressions and comments of a file, in order."""
    out: list[Expr | Comment] = []
    stack: list[tuple[Place, list[Expr]]] = []
    for token, place in _tokens(text, file):
        if token.startswith(";"):
            if not stack:
                out.append(Comment(token, place))
        elif token == "(":
            stack.append((place, []))
            if len(stack) > MAX_DEPTH:
                raise place.error(f"nested deeper than {MAX_DEPTH}; split the term")
        elif token == ")":
            if not stack:
                raise place.error("')' closes nothing; remove it")
            opened, items = stack.pop()
            _into(stack, out, Form(tuple(items), opened))
        else:
            _into(stack, out, Atom(token, place))
    if stack:
        raise stack[-1][0].error("'(' is never closed; add a ')'")
    return out


def _into(
    stack: Sequence[tuple[Place, list[Expr]]], out: list[Expr | Comment], e: Expr
) -> None:
    if stack:
        stack[-1][1].append(e)
    else:
        out.append(e)


def laid_out(forms: Iterable[Form]) -> str:
    """Text in which every head and atom stands where it was read."""
    out: list[str] = []
    line, column = 1, 1

    def write(token: str, place: Place) -> None:
        nonlocal line, column
        if place.line > line:
            out.append("\n" * (place.line - line))
            line, column = place.line, 1
        out.append(" " * (place.column - column) + token)
        column = place.column + len(token)

    def nested(e: Form) -> None:
        nonlocal column
        write("(", e.place)
        for item in e.items:
            write(item.text, item.place) if isinstance(item, Atom) else nested(item)
        out.append(")")
        column += 1

    for form in forms:
        nested(form)
    return "".join(out)


def parse_one(text: str, file: str, line: int) -> Expr:
    """The single expression in `text`, which stands on `line` of the file."""
    placed = "\n" * (line - 1) + text
    found = [e for e in parse(placed, file) if not isinstance(e, Comment)]
    if len(found) != 1:
        raise Place(file, line, 1).error(f"one term expected, found {len(found)}")
    return found[0]


def strings(e: Expr) -> frozenset[str]:
    """The string literals of an expression."""
    if isinstance(e, Atom):
        return frozenset([e.string]) if e.is_string else frozenset()
    return frozenset[str]().union(*(strings(a) for a in e.items))


def variables(e: Expr) -> frozenset[str]:
    """The symbols of a pattern that are no heads."""
    if isinstance(e, Atom):
        return frozenset([e.text]) if e.is_symbol else frozenset()
    return frozenset[str]().union(*(variables(a) for a in e.args))
