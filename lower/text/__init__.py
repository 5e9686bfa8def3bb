"""The text form of loop functions: `show` prints one, `parse` reads it back exactly.

    function scale(x: f32[96], out y: f16[96]) {
      grid i < 12 {
        let o = i * 8                    ; a comment
        let v = x[o +: 8]                ; 8 elements from x[o] on
        y[o +: 8] = fma(v, splat(0.5, 8), v)
      }
    }

A type is written where the text around it does not give it: a name, a load and an
operation have the type of what they are made of; a bare number takes the type of the
operand beside it or of where the value goes, else i32, f32 or bool.  Another one is a
suffix (`3_i64`), and any expression may be told its type (`(x + 1: i64)`): so functions
that break the rules have a text, too.  `/` and `%` of integers are `idiv` and `imod`.
A name that is a word of the language, or no word, stands in backticks.
"""

from .cursor import ParseError
from .parse import parse, parse_all
from .show import line, show, show_all

__all__ = ["ParseError", "line", "parse", "parse_all", "show", "show_all"]
