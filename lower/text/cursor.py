"""Tokens of the text of loops, and a cursor over them whose errors name the place."""

from __future__ import annotations

import re

from ...egraph.ir import dtypes
from ...egraph.ir.dtypes import DType
from ...egraph.ir.tokens import Reader, Token
from .syntax import KEYWORDS, WORD


class ParseError(ValueError):
    """A text that is no function: where, and what was expected."""


_TYPES = "|".join(dtypes.BY_NAME)
_TOKEN = re.compile(
    rf"""(?P<space>[^\S\n]+|;[^\n]*)|(?P<newline>\n)|`(?P<quoted>[^`\n]+)`
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|(?:true|false|inf|nan)
    (?![^\W_]|_(?!(?:{_TYPES})\b)))(?:_(?:{_TYPES})\b)?)
    |(?P<word>{WORD})|(?P<mark>\+:|<=|==|!=|[-+*/%<&^|?:=(){{}}\[\],])""",
    re.VERBOSE,
)


class Cursor(Reader):
    """A position in the text of functions."""

    PATTERN = _TOKEN
    SPELLED = ("mark", "keyword")
    ERROR = ParseError

    def token(self, kind: str, m: re.Match[str]) -> Token:
        if kind == "quoted":
            return Token("word", m["quoted"], m.start())
        keyword = kind == "word" and m[0] in KEYWORDS
        return Token("keyword" if keyword else kind, m[0], m.start())

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
