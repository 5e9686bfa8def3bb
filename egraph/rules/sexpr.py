"""S-expressions with their places: the concrete syntax of rule files."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

type Expr = Atom | Form

LONGEST = 800  # characters of a message
MAX_DEPTH = 100  # of brackets; more overruns the stack, here and in the engine

# The grammar of tokens is narrower than egglog's (`SexpParser::next` in its
# src/ast/parse.rs), in which a symbol holds any character but spaces, brackets and ';',
# quotes included, and spaces are those of Unicode.  What is one token here is the same
# token there: characters are printable ASCII, strings have no escapes, and between two
# atoms stands a space or a bracket.
_STRING = r'"[ !#-\[\]-~]*"'
_NUMBER = r"-?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|inf)|NaN"
_WORD = r"[!$-'*-:<-\[\]^_a-z|~]+"
_ATOM = re.compile(
    rf"(?P<string>{_STRING})|(?P<number>(?:{_NUMBER})(?!{_WORD}))|(?P<word>{_WORD})"
)
_SPACES = " \t\r"  # in a line
_TOKEN = re.compile(
    rf"[{_SPACES}]*([()]|(?:{_STRING}|{_WORD})(?=[{_SPACES}();]|\Z)|;.*|\Z)", re.DOTALL
)
_TEXT = re.compile(rf"[()]|{_STRING}|{_WORD}|[^ \n]")  # of what is printed here


class RuleFileError(ValueError):
    """A rule file that is refused; the message is `file:line:col: what`."""


class Place(NamedTuple):
    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def error(self, message: str) -> RuleFileError:
        if len(message) > LONGEST:  # it quotes something long
            message = f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 :]}"
        return RuleFileError(f"{self}: {message}")


@dataclass(frozen=True, slots=True)
class Atom:
    """A symbol, number or string literal; strings keep their quotes in `text`.

    Its text is one token, of this file's grammar and so of the engine's.
    """

    text: str
    place: Place

    def __post_init__(self) -> None:
        kind = _kind(self.text)
        if kind is None:
            raise self.place.error(f"a word was expected, found {self.text!r}")
        if kind == "number":
            _check_number(self.text, self.place)

    @property
    def is_string(self) -> bool:
        return self.text.startswith('"')

    @property
    def is_number(self) -> bool:
        return _kind(self.text) == "number"

    @property
    def is_symbol(self) -> bool:
        return _kind(self.text) == "word"

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


@functools.lru_cache(maxsize=1 << 14)
def _kind(atom: str) -> str | None:
    """Which of the groups of `_ATOM` it is."""
    m = _ATOM.fullmatch(atom)
    return m and m.lastgroup


@dataclass(frozen=True, slots=True)
class Comment:
    """A line comment, with its semicolons."""

    text: str
    place: Place


def _check_number(text: str, place: Place) -> None:
    """The engine reads what is too large for its integers as a float, and what is too
    large for its floats as a symbol."""
    if "." in text:
        if not math.isfinite(float(text)):
            raise place.error("a finite number was expected; this one is too large")
    elif text[-1].isdigit() and not -(1 << 63) <= int(text) < 1 << 63:
        raise place.error(f"an integer of 64 bits was expected, found {text:.40}")


def _tokens(text: str, file: str) -> Iterator[tuple[str, Place]]:
    """None spans lines."""
    match = _TOKEN.match
    for number, line in enumerate(text.split("\n"), 1):
        at, size = 0, len(line)
        while at < size:
            m = match(line, at)
            if m is None:
                at = size - len(line[at:].lstrip(_SPACES))
                raise _no_token(line, at, Place(file, number, at + 1))
            token, at = m[1], m.end()
            if token:
                yield token, Place(file, number, m.start(1) + 1)


def _no_token(text: str, at: int, place: Place) -> RuleFileError:
    """What is wrong where no token stands."""
    if text[at] != '"':
        word = re.compile(_WORD).match(text, at)
        bad = Place(place.file, place.line, place.column + len(word[0] if word else ""))
        result = text[word.end() if word else at]
        if result == '"':
            return bad.error("a string starts inside a word; put a space between them")
        return bad.error(
            f"{result!r} stands in no word: words are printable ASCII without "
            "brackets, braces, quotes, '#', '`' and '\\'"
        )
    line = text[at + 1 :].split("\n", 1)[0]
    end = line.find('"')
    if end < 0:
        return place.error("a string was opened and not closed; add a '\"'")
    if "\\" in line[:end]:
        return place.error("a string has no escapes; leave the backslash out")
    odd = next((c for c in line[:end] if not quotable(c)), None)
    if odd is not None:
        return place.error(f"a string holds printable ASCII alone, found {odd!r}")
    return place.error("a space or a bracket was expected behind the string")


def quotable(text: str) -> bool:
    return re.fullmatch(_STRING, f'"{text}"') is not None


@functools.lru_cache(4096)
def quoted(text: str) -> str:
    """The text as a string literal: the one way by which strings get into the text that
    the engine reads."""
    if not quotable(text):
        raise RuleFileError(
            f"{text!r} is no string of the rule language, which holds printable ASCII "
            "characters but '\"' and '\\'; name it otherwise"
        )
    return f'"{text}"'


def parse(text: str, file: str) -> list[Expr | Comment]:
    """The top-level expressions and comments of a file, in order."""
    out: list[Expr | Comment] = []
    stack: list[tuple[Place, list[Expr]]] = []
    for token, place in _tokens(text, file):
        if token == "(":
            stack.append((place, []))
            if len(stack) > MAX_DEPTH:
                raise place.error(f"nested deeper than {MAX_DEPTH}; split the term")
            continue
        if token == ")":
            if not stack:
                raise place.error("')' closes nothing; remove it")
            opened, items = stack.pop()
            made = Form(tuple(items), opened)
        elif token[0] != ";":
            made = Atom(token, place)
        else:
            if not stack:
                out.append(Comment(token, place))
            continue
        if stack:
            stack[-1][1].append(made)
        else:
            out.append(made)
    if stack:
        raise stack[-1][0].error("'(' is never closed; add a ')'")
    return out


def laid_out(form: Form) -> str:
    """Text in which every head and atom stands where it was read, from the form's own
    place on.

    Atoms that were read nowhere, or elsewhere, are apart by a space at least.
    """
    out: list[str] = []
    line, column, joins = form.place.line, form.place.column, False
    todo: list[Expr | None] = [form]
    while todo:
        e = todo.pop()
        if e is None:
            out.append(")")
            column, joins = column + 1, False
            continue
        atom = isinstance(e, Atom)
        token, (_, down, along) = e.text if atom else "(", e.place
        if down > line:
            out.append("\n" * (down - line))
            line, column, joins = down, 1, False
        out.append(" " * max(along - column, joins and atom) + token)
        column, joins = along + len(token), atom
        if not atom:
            todo.append(None)
            todo.extend(reversed(e.items))
    return "".join(out)


def spelled(form: Form) -> str:
    """The form as the engine gets it, which reads as this form and no other."""
    text = laid_out(form)
    if _TEXT.findall(text) != _flat(form):
        raise form.place.error(
            "a form of this file reads otherwise once it is printed; report this file"
        )
    return text


def printed(forms: Iterable[tuple[Form, str]]) -> str:
    """Forms, each beside how it is spelled, where they were read.  Each is in brackets
    of its own, so that together they read as they do alone."""
    out: list[str] = []
    line, column = 1, 1
    for form, text in forms:
        place = form.place
        if place.line > line:
            out.append("\n" * (place.line - line))
            line, column = place.line, 1
        out.append(" " * (place.column - column) + text)
        column = max(place.column, column) + len(text)
        if down := text.count("\n"):
            line, column = line + down, len(text) - text.rindex("\n")
    return "".join(out)


def _flat(e: Expr) -> list[str]:
    """The tokens of an expression, which tell it from every other."""
    out: list[str] = []
    todo: list[Expr | None] = [e]
    while todo:
        x = todo.pop()
        if x is None:
            out.append(")")
        elif isinstance(x, Atom):
            out.append(x.text)
        else:
            out.append("(")
            todo.append(None)
            todo.extend(reversed(x.items))
    return out


def parse_one(text: str, file: str, line: int) -> Expr:
    """The single expression in `text`, which stands on `line` of the file."""
    placed = "\n" * (line - 1) + text
    result = [e for e in parse(placed, file) if not isinstance(e, Comment)]
    if len(result) != 1:
        raise Place(file, line, 1).error(f"one term expected, found {len(result)}")
    return result[0]


def strings(e: Expr) -> frozenset[str]:
    """The string literals of an expression."""
    if isinstance(e, Atom):
        return frozenset([e.string]) if e.is_string else frozenset()
    return frozenset[str]().union(*(strings(a) for a in e.items))


def heads(e: Expr) -> frozenset[str]:
    """The first words of the forms in an expression."""
    found, todo = set[str](), [e]
    while todo:
        x = todo.pop()
        if isinstance(x, Form):
            found.add(x.head)
            todo += x.items
    return frozenset(found)


def variables(e: Expr) -> frozenset[str]:
    """The symbols of a pattern that are no heads."""
    found, todo = set[str](), [e]
    while todo:
        x = todo.pop()
        if isinstance(x, Form):
            todo += x.args
        elif x.is_symbol:
            found.add(x.text)
    return frozenset(found)
