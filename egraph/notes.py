"""What comments say of the form below them: its sentence, and the `;;@` lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .ruleset import ANALYSED
from .sexpr import Comment, Form, Place, parse


@dataclass
class Notes:
    doc: str = ""
    words: list[tuple[str, str, Place]] = field(
        default_factory=list[tuple[str, str, Place]]
    )

    def get(self, word: str) -> list[tuple[str, Place]]:
        return [(text, place) for w, text, place in self.words if w == word]


WORDS = ("equal", "sizes", "fires", "skips", "refused", "because", "explosive")


def notes_of(comments: Sequence[Comment]) -> Notes:
    """A `;;@` line that starts with no known word continues the one before."""
    out, doc = Notes(), list[str]()
    for c in comments:
        if not c.text.startswith(";;@"):
            line = c.text.lstrip("; ").rstrip()
            if line.startswith("----"):
                doc.clear()  # a heading: what stood above is not of this form
            else:
                doc.append(line)
            continue
        body = c.text[3:].split(" ;")[0].strip()
        word, _, rest = body.partition(" ")
        if word in WORDS:
            out.words.append((word, rest.strip(), c.place))
        elif out.words:
            last, text, place = out.words[-1]
            out.words[-1] = (last, f"{text} {body}", place)
        else:
            raise c.place.error(f"one of {', '.join(WORDS)} expected, found {word!r}")
    out.doc = " ".join(d for d in doc if d)
    return out


def any_size(notes: Notes) -> bool:
    for text, place in notes.get("sizes"):
        if text != "any":
            raise place.error(f"';;@ sizes any' expected, found {text!r}")
    return bool(notes.get("sizes"))


def given(text: str, place: Place) -> tuple[Form, ...]:
    """The facts of an example: `(nan-free x)` of a tensor that its left side names."""
    facts: list[Form] = []
    for e in parse(text, place.file):
        if not isinstance(e, Form) or e.head not in ANALYSED or len(e.args) != 1:
            known = ", ".join(f"({name} x)" for name in sorted(ANALYSED))
            raise place.error(f"after 'given' one of {known} was expected, found {e}")
        facts.append(e)
    return tuple(facts)
