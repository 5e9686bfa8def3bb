"""What became of a function: equations before and after, rules, what stayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .flat import flatten
from .library import Jaxpr, bodies
from .program import Made
from .wrapped import asked, traced

MOST = 12  # rules that are listed


@dataclass(frozen=True)
class Explanation:
    """Equations by primitive, calls inlined, bodies of loops beside them."""

    made: Made
    before: Mapping[str, int]
    after: Mapping[str, int]

    @property
    def jaxpr(self) -> Jaxpr:
        """The optimized jaxpr."""
        return self.made.after

    @property
    def rules(self) -> Mapping[str, int]:
        """How often each rule matched, in bodies too."""
        total: Counter[str] = Counter()
        for made in _all(self.made):
            total.update(made.fired)
        return dict(total.most_common())

    @property
    def stayed(self) -> Mapping[tuple[str, str], int]:
        """Primitives that rules do not see, with the reason."""
        total: Counter[tuple[str, str]] = Counter()
        for made in _all(self.made):
            total.update(made.stayed)
        return dict(total.most_common())

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        b, a = self.made.seconds
        yield (
            f"{sum(self.before.values())} -> {sum(self.after.values())} equations, "
            + (f"predicted {b * 1e6:.0f} -> {a * 1e6:.0f} us")
        )
        if not self.made.changed:
            yield "unchanged: no clear gain is predicted"
        for name in sorted({*self.before, *self.after}):
            old, new = self.before.get(name, 0), self.after.get(name, 0)
            if old != new:
                yield f"  {name}: {old} -> {new}"
        matched = list(self.rules.items())[:MOST]
        if matched:
            yield "rules that matched: " + ", ".join(f"{r} {n}" for r, n in matched)
        for (name, why), n in self.stayed.items():
            yield f"stays as it is: {name} ({n}): {why}"
        for made in _all(self.made):
            yield from made.notes


def explain(f: Callable[..., Any], *args: Any, **named: Any) -> Explanation:
    """How `jit(f)` computes for such arguments.  `precision`, `rules`, `effort` and
    `fallback` among the keywords are options; the others are `f`'s."""
    options = asked(named)
    made, _, _ = traced(f, args, named, options)
    return Explanation(made, equations(made.before), equations(made.after))


def equations(jaxpr: Jaxpr) -> Mapping[str, int]:
    flat = flatten(jaxpr)
    total = Counter(s.name for s in flat.steps)
    for step in flat.steps:
        for _, body in bodies(step.equation):
            total.update(equations(body))
    return dict(total)


def _all(made: Made) -> Iterator[Made]:
    yield made
    for inner in made.bodies:
        yield from _all(inner)
