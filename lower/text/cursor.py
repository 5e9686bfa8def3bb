"""Tokens of the text of loops, and a cursor over them whose errors name the place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, cast

from ...egraph import dtypes
from ...egraph.dtypes import DType
from .syntax import (
    KEYWORDS,
    WORD,
)  # fmt: skip


class ParseError(ValueError):
    """A text that is no function: where, and what was expected."""


class Token(NamedTuple):
    kind: Literal["word", "keyword", "number", "mark", "newline", "end"]
    text: str
    at: int

    @property
    def shown(self) -> str:
        names = {"newline": "the end of the line", "end": "the end of the text"}
        return names.get(self.kind, f"'{self.text}'")


_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|(?:true|false|inf|nan)\b)"
_TYPES = "|".join(dtypes.BY_NAME)
_TOKEN = re.compile(
    rf"""(?P<space>[^\S\n]+|;[^\n]*)|(?P<newline>\n)|`(?P<quoted>[^`\n]+)`
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|(?:true|false|inf|nan)
    (?![^\W_]|_(?!(?:{_TYPES})\b)))(?:_(?:{_TYPES})\b)?)
    |(?P<word>{WORD})|(?P<mark>\+:|<=|==|!=|[-+*/%<&^|?:=(){{}}\[\],])""",
    re.VERBOSE,
)


class Cursor:
    """A position in the tokens; each method reads on from there."""

    def __init__(self, text: str, filename: str) -> None:
        self.text, self.filename = text, filename
        self.tokens = list(self._lex())
        self.next = 0

    def _lex(self) -> Iterator[Token]:
        """Line ends inside brackets are dropped."""
        at, depth = 0, 0
        while at < len(self.text):
            m = _TOKEN.match(self.text, at)
            if m is None:
                raise ParseError(
                    f"{self._where(at)}: unexpected character {self.text[at]!r}"
                )
            kind, text = cast(Any, m.lastgroup), m[0]
            depth += (text in ("(", "[")) - (text in (")", "]"))
            if kind == "quoted":
                yield Token("word", m["quoted"], at)
            elif kind == "word" and text in KEYWORDS:
                yield Token("keyword", text, at)
            elif kind != "space" and not (kind == "newline" and depth > 0):
                yield Token(kind, text, at)
            at = m.end()
        yield Token("end", "", at)

    def _where(self, at: int) -> str:
        line = self.text.count("\n", 0, at) + 1
        return f"{self.filename}:{line}:{at - self.text.rfind('\n', 0, at)}"

    def error(self, token: Token, message: str) -> ParseError:
        return ParseError(f"{self._where(token.at)}: {message}")

    def expected(self, what: str, token: Token | None = None) -> ParseError:
        token = token or self.peek
        return self.error(token, f"expected {what}, found {token.shown}")

    @property
    def peek(self) -> Token:
        return self.tokens[self.next]

    def take(self) -> Token:
        token = self.peek
        self.next = min(self.next + 1, len(self.tokens) - 1)
        return token

    def at(self, *texts: str) -> bool:
        return self.peek.kind in ("mark", "keyword") and self.peek.text in texts

    def skip(self, text: str) -> bool:
        found = self.at(text)
        self.next += found
        return found

    def expect(self, text: str) -> Token:
        if not self.at(text):
            raise self.expected(f"'{text}'")
        return self.take()

    def word(self, what: str) -> Token:
        if self.peek.kind != "word":
            raise self.expected(what)
        return self.take()

    def integer(self, what: str) -> int:
        sign = -1 if self.skip("-") else 1
        token = self.take()
        if not re.fullmatch("[0-9]+", token.text):
            raise self.expected(what, token)
        return sign * int(token.text)

    def dtype(self) -> DType:
        token = self.word("a type")
        if token.text not in dtypes.BY_NAME:
            raise self.expected(f"a type ({', '.join(dtypes.BY_NAME)})", token)
        return dtypes.of(token.text)

    def type(self) -> tuple[DType, int]:
        """A dtype with lanes, as `f32x8`."""
        token = self.word("a type")
        name, _, lanes = token.text.partition("x")
        if name not in dtypes.BY_NAME or (lanes and not lanes.isdecimal()):
            raise self.expected("a type, as f32 or f32x8", token)
        return dtypes.of(name), int(lanes or 1)

    def blank(self) -> None:
        while self.peek.kind == "newline":
            self.take()

    def end_line(self) -> None:
        if self.peek.kind == "newline":
            self.take()
        elif not self.at("}"):
            raise self.expected("the end of the line")
