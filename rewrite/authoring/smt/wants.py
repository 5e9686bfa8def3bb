"""What the op table asks of dtypes: met on the right wherever it is on the left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

from rewrite.egraph.ir.dtypes import ALL, BY_NAME, compute
from rewrite.egraph.ir.scalars import BY_NAME as OPCODES
from rewrite.egraph.ir.scalars import MONOIDS
from rewrite.egraph.rules.ruleset import ANALYSED

from .meaning.elements import Str, Sym
from .meaning.language import Library
from .meaning.world import Failed, Want, World

MOST = 3  # unknown dtypes that are tried in all combinations


@dataclass(frozen=True)
class Wants:
    library: Library
    world: World
    met: set[object] = field(default_factory=set[object])  # shown on other paths

    def check(self) -> None:
        """Every choice of dtypes that suits the left side and the premises suits the
        right side."""
        left, right = (
            {tuple(map(self.world.string, w)) for w in ws} for ws in self.world.wants
        )
        key = (frozenset(left), frozenset(right), frozenset(self.world.known))
        if key not in self.met:
            self._check(left, right)
            self.met.add(key)

    def _check(self, left: set[Want], right: set[Want]) -> None:
        missing = sorted(right - left, key=str)
        names = sorted({n for w in missing for s in w[1:] for n in _base(s)})
        if len(names) > MOST:
            raise Failed("too many unknown dtypes")
        names = _linked(names, left)
        for choice in product(ALL, repeat=len(names)):
            known = dict(zip(names, (d.name for d in choice), strict=True))
            given = [w for w in left if all(_known(s, known) for s in w)]
            if not self._possible(known) or not all(_met(w, known) for w in given):
                continue
            for w in missing:
                if not _met(w, known):
                    shown = ", ".join(f"{k} = {v}" for k, v in known.items())
                    raise Failed(f"{' '.join(map(str, w))} does not fit {shown}")

    def _possible(self, known: Mapping[str, str]) -> bool:
        """Whether what is known of tables allows these dtypes."""
        for name, *key in self.world.known:
            if name in ("=", *ANALYSED) or name not in self.library.rows:
                continue
            plain = [self.world.string(k) for k in key if isinstance(k, str | Sym)]
            if len(plain) == len(key) and all(_known(s, known) for s in plain):
                row = tuple(_string(s, known) for s in plain)
                if row not in self.library.rows[str(name)]:
                    return False
        return True

    def allows(self, dtype: str, kind: str) -> bool:
        """Whether some dtype of a kind suits the left side and the premises."""
        left = {tuple(map(self.world.string, w)) for w in self.world.wants[0]}
        of_kind = [d for d in ALL if d.kind == kind or (d.is_int and kind == "int")]
        for d in of_kind:
            known = {dtype: d.name}
            given = [w for w in left if all(_known(s, known) for s in w)]
            if self._possible(known) and all(_met(w, known) for w in given):
                return True
        return False


def _base(s: Str) -> list[str]:
    """The unknown dtypes that a string is made of."""
    if not isinstance(s, Sym):
        return []
    inner = s.name[5:-1] if s.name.startswith("wide(") else s.name
    return [] if inner in BY_NAME else [inner]


def _linked(names: list[str], wants: set[Want]) -> list[str]:
    """With the dtypes that the left side ties them to, as far as `MOST` allows."""
    for w in sorted(wants, key=str):
        base = {n for s in w for n in _base(s)}
        if base & set(names) and len(base | set(names)) <= MOST:
            names = sorted(base | set(names))
    return names


def _known(s: Str, known: Mapping[str, str]) -> bool:
    return all(n in known for n in _base(s))


def _string(s: Str, known: Mapping[str, str]) -> str:
    if not isinstance(s, Sym):
        return s
    if s.name.startswith("wide("):
        inner = s.name[5:-1]
        return compute(BY_NAME[known.get(inner, inner)]).name
    return known[s.name]


def _met(want: Want, known: Mapping[str, str]) -> bool:
    what, *rest = (_string(s, known) for s in want)
    table = {"takes": OPCODES, "monoid": MONOIDS}.get(what, BY_NAME)
    if rest[0] not in table or rest[-1] not in BY_NAME:
        return False
    match what, rest:
        case "takes", [op, d]:
            return BY_NAME[d].kind in OPCODES[op].takes
        case "acc", [acc, d]:
            a, t = BY_NAME[acc], BY_NAME[d]
            return a.kind == t.kind and a.bits >= t.bits
        case "monoid", [o, d]:
            return MONOIDS[o].takes(BY_NAME[d])
        case "number", [d]:
            return BY_NAME[d].kind != "bool"
        case "float", [d]:
            return BY_NAME[d].is_float
        case "int", [d]:
            return BY_NAME[d].is_int
        case "bitcast", [a, b]:
            x, y = BY_NAME[a], BY_NAME[b]
            return x.bits == y.bits and "bool" not in (x.kind, y.kind)
        case _:
            raise ValueError(f"an unknown want {want}")
