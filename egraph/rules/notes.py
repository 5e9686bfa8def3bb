"""What comments say of the form below them: its sentence, and the `;;@` lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .ruleset import ANALYSED, KNOWN_CONTRACTS, Example, Refused
from .sexpr import Comment, Form, Place, parse, parse_one


@dataclass
class Notes:
    doc: str = ""
    words: list[tuple[str, str, Place]] = field(
        default_factory=list[tuple[str, str, Place]]
    )
    allowed: dict[str, str] = field(default_factory=dict[str, str])  # code -> why

    def get(self, word: str) -> list[tuple[str, Place]]:
        return [(text, place) for w, text, place in self.words if w == word]


WORDS = (
    "equal", "sizes", "fires", "skips", "refused", "because", "explosive", "allow",
)  # fmt: skip


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
        body, _, why = c.text[3:].partition(" ;")
        body = body.strip()
        word, _, rest = body.partition(" ")
        if word == "allow":
            _allow(out, rest.strip(), why.strip(), c.place)
        elif word in WORDS:
            out.words.append((word, rest.strip(), c.place))
        elif out.words:
            last, text, place = out.words[-1]
            out.words[-1] = (last, f"{text} {body}", place)
        else:
            raise c.place.error(f"one of {', '.join(WORDS)} expected, found {word!r}")
    out.doc = " ".join(d for d in doc if d)
    return out


def _allow(notes: Notes, code: str, why: str, place: Place) -> None:
    """A finding of the linter that is right by design, and the reason."""
    if not code or not why:
        raise place.error("';;@ allow CODE ; why' expected: the reason is part of it")
    notes.allowed[code] = why


def any_size(notes: Notes) -> bool:
    for text, place in notes.get("sizes"):
        if text != "any":
            raise place.error(f"';;@ sizes any' expected, found {text!r}")
    return bool(notes.get("sizes"))


def rtol(notes: Notes) -> float | None:
    """The number after `;;@ equal approx`."""
    words = notes.get("equal")[0][0].split()
    if len(words) < 2 or words[0] != "approx":
        return None
    place = notes.get("equal")[0][1]
    try:
        result = float(words[1])
    except ValueError:
        result = 0.0
    if not 0 < result < 1:
        raise place.error(f"';;@ equal approx 1e-3' or so expected, found {words[1]}")
    return result


def one_way(notes: Notes) -> bool:
    """`;;@ equal real one-way`: the right side may be the more accurate one."""
    words = [text.split()[:2] for text, _ in notes.get("equal")]
    return ["real", "one-way"] in words


def refused(notes: Notes) -> list[Refused]:
    """The laws that a comment warns of, each with its counterexample."""
    out: list[Refused] = []
    for word, text, place in notes.words:
        if word == "refused":
            left, arrow, right = text.partition("=>")
            if not (arrow and left.strip() and right.strip()):
                shape = "';;@ refused TERM => TERM' expected"
                raise place.error(f"{shape}, found {text!r}")
            sides = [parse_one(t, place.file, place.line) for t in (left, right)]
            out.append(Refused(sides[0], sides[1], "", place))
        elif word == "because":
            if not out:
                raise place.error("';;@ because' tells why a ';;@ refused' above it is")
            out[-1] = replace(out[-1], because=f"{out[-1].because} {text}".strip())
    return out


def given(text: str, place: Place) -> tuple[Form, ...]:
    """The facts of an example: `(nan-free x)` of a tensor that its left side names."""
    facts: list[Form] = []
    for e in parse(text, place.file):
        if not isinstance(e, Form) or e.head not in ANALYSED or len(e.args) != 1:
            known = ", ".join(f"({name} x)" for name in sorted(ANALYSED))
            raise place.error(f"after 'given' one of {known} was expected, found {e}")
        facts.append(e)
    return tuple(facts)


@dataclass(frozen=True, slots=True)
class Told:
    """An example of a comment, which takes as long to read as a rule."""

    word: str  # fires or skips
    text: str
    place: Place

    def read(self) -> Example:
        place = self.place
        terms, _, facts = self.text.partition(" given ")
        left, arrow, right = terms.partition("=>")
        if (self.word == "fires") != bool(arrow):
            shape = "TERM => TERM" if self.word == "fires" else "TERM"
            raise place.error(
                f"';;@ {self.word} {shape}' expected, found {self.text!r}"
            )
        if not left.strip():
            raise place.error(f"';;@ {self.word}' needs a term; write one behind it")
        blank = "?" if arrow and not right.strip() else right
        sides = [parse_one(t, place.file, place.line) for t in (left, blank) if t]
        told = given(facts, place)
        return Example(sides[0], sides[1] if arrow else None, place, told)


def examples(notes: Notes, word: str) -> tuple[Told, ...]:
    return tuple(Told(word, text, place) for text, place in notes.get(word))


def contract_of(form: Form, notes: Notes) -> str:
    stated = notes.get("equal")
    first = stated[0][0].split() if stated else []
    if not first or first[0] not in KNOWN_CONTRACTS:
        raise form.place.error(
            f"';;@ equal' and one of {', '.join(KNOWN_CONTRACTS)} expected above"
        )
    return first[0]
