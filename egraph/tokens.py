"""Tokens of the text form, and a cursor over them whose errors name the place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .graph import GraphError

WORD = r"[^\W\d][\w.]*"


class Token(NamedTuple):
    """`kind` is word, label, string, number, mark, newline or end."""

    kind: str
    text: str
    at: int

    @property
    def shown(self) -> str:
        names = {"newline": "the end of the line", "end": "the end of the text"}
        return names.get(self.kind, f"'{self.text}'")


_TOKEN = re.compile(
    rf"""(?P<space>[^\S\n]+|;[^\n]*)|(?P<newline>\n)|(?P<word>{WORD})
    |(?P<label>%[\w.]+)|(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*")|(?P<mark><-|[-+*(){{}}\[\]:,=])""",
    re.VERBOSE,
)


def tokens(text: str, where: Callable[[int], str]) -> Iterator[Token]:
    """Line ends inside brackets are dropped."""
    at, depth = 0, 0
    while at < len(text):
        m = _TOKEN.match(text, at)
        if m is None:
            raise GraphError(f"{where(at)}: unexpected character {text[at]!r}")
        kind = m.lastgroup or ""
        if m[0] in ("(", "["):
            depth += 1
        elif m[0] in (")", "]"):
            depth -= 1
        if kind != "space" and not (kind == "newline" and depth > 0):
            yield Token(kind, m[0], at)
        at = m.end()
    yield Token("end", "", at)


class Cursor:
    """A position in the tokens of a text; each method reads on from there."""

    def __init__(self, text: str, filename: str) -> None:
        self.text, self.filename = text, filename
        self.tokens = list(tokens(text, self._where))
        self.next = 0

    def _where(self, at: int) -> str:
        line = self.text.count("\n", 0, at) + 1
        return f"{self.filename}:{line}:{at - self.text.rfind('\n', 0, at)}"

    def _error(self, token: Token, message: str) -> GraphError:
        return GraphError(f"{self._where(token.at)}: {message}")

    @property
    def peek(self) -> Token:
        return self.tokens[self.next]

    @property
    def _before_equals(self) -> bool:
        """Whether the token after this one is `=`."""
        return self.tokens[min(self.next + 1, len(self.tokens) - 1)].text == "="

    def _take(self) -> Token:
        token = self.peek
        self.next = min(self.next + 1, len(self.tokens) - 1)
        return token

    def _is(self, *texts: str) -> bool:
        return self.peek.kind in ("word", "mark") and self.peek.text in texts

    def _skip(self, text: str) -> bool:
        found = self._is(text)
        self.next += found
        return found

    def _expect(self, text: str) -> Token:
        if not self._is(text):
            raise self._error(self.peek, f"expected '{text}', found {self.peek.shown}")
        return self._take()

    def _name(self, what: str) -> str:
        """A word, or any text in quotes."""
        token = self._take()
        if token.kind == "word":
            return token.text
        if token.kind != "string":
            raise self._error(token, f"expected {what}, found {token.shown}")
        return self._unquote(token)

    def _unquote(self, token: Token) -> str:
        try:
            return str(json.loads(token.text))
        except ValueError as e:
            raise self._error(token, f"expected a JSON string: {e}") from None

    def _end_line(self) -> None:
        if self.peek.kind == "newline":
            self._take()
        elif not self._is("}"):
            message = f"expected the end of the line, found {self.peek.shown}"
            raise self._error(self.peek, message)

    def _blank(self) -> None:
        while self.peek.kind == "newline":
            self._take()
