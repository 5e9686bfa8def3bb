"""Tokens of the text of graphs, and what reading any text of tokens takes: a position
whose errors name the place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from .graph import GraphError

WORD = r"[^\W\d][\w.]*"


class Token(NamedTuple):
    """`kind` is space, newline, end or a group of the language's pattern."""

    kind: str
    text: str
    at: int

    @property
    def shown(self) -> str:
        names = {"newline": "the end of the line", "end": "the end of the text"}
        return names.get(self.kind, f"'{self.text}'")


class Reader:
    """A position in the tokens of a text; each method reads on from there."""

    PATTERN: ClassVar[re.Pattern[str]]
    SPELLED: ClassVar[tuple[str, ...]]  # the kinds that the language itself may spell
    ERROR: ClassVar[type[ValueError]]

    def __init__(self, text: str, filename: str) -> None:
        self.text, self.filename = text, filename
        self.tokens = list(self._lex())
        self.next = 0

    def _lex(self) -> Iterator[Token]:
        """Line ends inside brackets are dropped."""
        at, depth = 0, 0
        while at < len(self.text):
            m = self.PATTERN.match(self.text, at)
            if m is None:
                result = Token("", self.text[at], at)
                raise self.error(result, f"unexpected character {result.text!r}")
            kind = m.lastgroup or ""
            depth += (m[0] in ("(", "[")) - (m[0] in (")", "]"))
            if kind != "space" and not (kind == "newline" and depth > 0):
                yield self.token(kind, m)
            at = m.end()
        yield Token("end", "", at)

    def token(self, kind: str, m: re.Match[str]) -> Token:
        return Token(kind, m[0], m.start())

    def line(self, token: Token) -> int:
        return self.text.count("\n", 0, token.at) + 1

    def error(self, token: Token, message: str) -> ValueError:
        line = self.line(token)
        column = token.at - self.text.rfind("\n", 0, token.at)
        return self.ERROR(f"{self.filename}:{line}:{column}: {message}")

    def expected(self, what: str, token: Token | None = None) -> ValueError:
        token = token or self.peek
        return self.error(token, f"expected {what}, found {token.shown}")

    @property
    def peek(self) -> Token:
        return self.tokens[self.next]

    @property
    def after(self) -> Token:
        """The token after this one."""
        return self.tokens[min(self.next + 1, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.peek
        self.next = min(self.next + 1, len(self.tokens) - 1)
        return token

    def at(self, *texts: str) -> bool:
        return self.peek.kind in self.SPELLED and self.peek.text in texts

    def skip(self, text: str) -> bool:
        result = self.at(text)
        self.next += result
        return result

    def expect(self, text: str) -> Token:
        if not self.at(text):
            raise self.expected(f"'{text}'")
        return self.take()

    def blank(self) -> None:
        while self.peek.kind == "newline":
            self.take()

    def end_line(self) -> None:
        if self.peek.kind == "newline":
            self.take()
        elif not self.at("}"):
            raise self.expected("the end of the line")


def tokens(marks: str) -> re.Pattern[str]:
    """The tokens of a text whose marks are those of a pattern."""
    return re.compile(
        rf"""(?P<space>[^\S\n]+|;[^\n]*)|(?P<newline>\n)|(?P<word>{WORD})
        |(?P<label>%[\w.]+)|(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)
        |(?P<string>"(?:[^"\\\n]|\\[^\n])*")|(?P<mark>{marks})""",
        re.VERBOSE,
    )


class Cursor(Reader):
    """A position in the text of a graph."""

    PATTERN = tokens(r"<-|//|[-+*(){}\[\]:,=]")
    SPELLED = ("word", "mark")
    ERROR = GraphError

    def _name(self, what: str) -> str:
        """A word, or any text in quotes."""
        token = self.take()
        if token.kind == "word":
            return token.text
        if token.kind != "string":
            raise self.expected(what, token)
        return self._unquote(token)

    def _unquote(self, token: Token) -> str:
        try:
            return str(json.loads(token.text))
        except ValueError as e:
            raise self.error(token, f"expected a JSON string: {e}") from None
