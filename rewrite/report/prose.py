"""An account as text for a terminal: the decision, then the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, cast

from rewrite.egraph.ir.printable import printable

from .account import (
    Account,
    Alternative,
    Held,
    KernelView,
    Measured,
    PartView,
    StepView,
)
from .spelling import needed

HELD = 8  # rules that a limit kept from going on
SHOWN = 3  # values of a kernel, the ones nearest to being held the other way
MEANING = {
    "bitwise": "no rule used changes a bit; kernels may sum in another order",
    "ieee": "the rules used keep what == compares; kernels may sum in another order",
    "real": "equal over the reals; floats may round in another order",
    "approx": "close: a rule says how close",
}
VERBS = {"store": "storing", "inline": "computing again"}

type Paint = Callable[[str, str], str]  # (kind, text); kinds: head, rule, faint, dear

CODES = {"head": "1", "rule": "36", "faint": "2", "dear": "33"}


def plain(kind: str, text: str) -> str:
    return text


def coloured(kind: str, text: str) -> str:
    """With the escapes of a terminal."""
    return f"\x1b[{CODES[kind]}m{text}\x1b[0m"


def harmless(value: Any) -> Any:
    """The same data with no text that moves a terminal."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, tuple):
        return tuple(map(harmless, cast("tuple[Any, ...]", value)))
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {printable(k): harmless(v) for k, v in pairs}
    if is_dataclass(value) and not isinstance(value, type):
        new = {f.name: harmless(getattr(value, f.name)) for f in fields(value)}
        return replace(value, **new)
    return value


def prose(
    a: Account, paint: Paint = plain, *, folded: bool = True, full: bool = False
) -> str:
    """`folded`: steps in a row that only move elements are one line.  `full`: all
    values and steps, with what the variables stand for, and no step cut short."""
    a = harmless(a)
    lines = [*_head(a, paint), "", paint("head", "Kernels"), *_kernels(a, paint, full)]
    shown = _Full(a, paint) if full else _Short(paint, folded)
    for piece in a.pieces:
        lines += ["", *_piece(a, piece, paint, shown)]
    if a.ablation is not None:
        lines += ["", *_ablation(a, paint)]
    return "\n".join(lines)


def _head(a: Account, paint: Paint) -> list[str]:
    at = ", ".join(f"{k}={v}" for k, v in a.sizes.items())
    lines = [
        paint("head", a.model) + (f": {a.only}" if a.only else ""),
        f"nodes      {a.nodes[0]} -> {a.nodes[1]}",
        f"kernels    {a.own_kernels} -> {_count(a)}",
        f"predicted  {us(a.own_seconds)} -> {us(a.seconds)} us on {a.device}"
        + (f" by {a.cost}" if a.cost != "roofline" else "")
        + (f" at {at}" if at else ""),
        f"equal      {a.equal}: {MEANING.get(a.equal, '')}".rstrip(": "),
    ]
    lines += [f"error      {m.output}: {_error(m)}" for m in a.measured or ()]
    if a.measured is None:
        lines.append(f"error      not measured: {a.unmeasured}")
    reached = ", ".join(a.limits) or "none was reached"
    lines.append(f"limits     {reached}")
    return [*lines, *(f"note       {n}" for n in a.notes)]


def _error(m: Measured) -> str:
    if not m.compared:
        return f"nothing could be compared, no value is finite ({m.inputs})"
    return f"{m.error:.1e}, as written {m.own:.1e} ({m.inputs})"


def _count(a: Account) -> int:
    """All kernels of the schedule, whichever are looked at."""
    return max((k for n in a.after for k in n.kernels), default=len(a.kernels) - 1) + 1


def us(seconds: float) -> str:
    return f"{seconds * 1e6:.1f}"


def more(seconds: float | None, total: float) -> str:
    """By how much another way is dearer."""
    if seconds is None:
        return "impossible"
    return f"{(seconds - total) * 1e6:+.1f} us"


# ---- kernels -------------------------------------------------------------------------


def _kernels(a: Account, paint: Paint, full: bool) -> list[str]:
    lines: list[str] = []
    for k in a.kernels:
        lines += _kernel(a, k, paint, len(a.after) if full else SHOWN)
    return lines or ["none is left: the outputs are inputs or constants"]


def _kernel(a: Account, k: KernelView, paint: Paint, most: int) -> list[str]:
    name = f"k{k.number}"
    time = "once" if k.once else f"{us(k.seconds)} us"
    head = f"{paint('rule', f'{name:<4}')} {time:>9}  {k.family:<10} {k.label}"
    stored = [v for v in k.values if v.how == "stored"]
    if k.like is not None:
        writes = ", ".join(f"{v.text}: {v.type}" for v in stored)
        return [head, f"     stores   {writes}", paint("faint", f"     as k{k.like}")]
    lines = [head]
    if k.parts:
        parts = (("launch", k.parts.launch), ("bytes", k.parts.bytes),
                 ("scalar", k.parts.scalar), ("products", k.parts.product))  # fmt: skip
        shown = ", ".join(f"{word} {us(s)}" for word, s in parts if s)
        lines.append(paint("faint", f"     spent on {shown}"))
    lines += [_held(v, a.seconds) for v in stored]
    inner = sorted((v for v in k.values if v.how == "inlined"), key=_other)
    lines += [_held(v, a.seconds) for v in inner[:most]]
    if len(inner) > most:
        left = len(inner) - most
        word = "value" if left == 1 else "values"
        lines.append(paint("faint", f"     inlines  {left} more {word}"))
    best = k.runner_up
    if best is not None:
        lines.append(f"     runner-up {said(best)}: {more(best.seconds, a.seconds)}")
    return lines


def said(a: Alternative) -> str:
    if a.kind == "family":
        return f"the family {a.what}"
    return f"{VERBS[a.kind]} {a.what}" if a.kind in VERBS else a.what


def _other(v: Held) -> float:
    return float("inf") if v.otherwise is None else v.otherwise


def _held(v: Held, total: float) -> str:
    word, other = ("stores ", "inlined") if v.how == "stored" else ("inlines", "stored")
    why = v.reason if v.otherwise is None else f"{other}: {more(v.otherwise, total)}"
    return f"     {word}  {v.text}: {v.type}" + (f"  ({why})" if why else "")


# ---- steps ---------------------------------------------------------------------------


def _piece(a: Account, p: PartView, paint: Paint, shown: Steps) -> list[str]:
    steps = [s for s in a.steps if s.part == p.number]
    times = f", which stands {p.uses} times in the model" if p.uses > 1 else ""
    lines = [
        paint("head", f"Piece {p.number}") + times,
        f"{p.nodes[0]} nodes -> {p.nodes[1]}, {_counted(a, p, len(steps))}",
        f"predicted {us(p.own_seconds)} us with each op a kernel, "
        f"{us(p.unruled_seconds)} fused as written, {us(p.seconds)} as chosen",
        *_limits(p), *(f"note: {n}" for n in p.notes),
    ]  # fmt: skip
    lines += shown(steps)
    if not p.rules:
        lines.append("the same terms: only the kernels differ")
    elif not a.only:
        lines.append("rules: " + " ".join(p.rules))
        lines.append(f"weakest contract: {p.equal}")
    return lines


def _limits(p: PartView) -> list[str]:
    """Whether the rules had come to their end."""
    done = [] if p.held else ["saturated: the rules find no more forms"]
    spent = [f"limit: {x}{_held_back(p.held.get(x, ()))}" for x in p.limits]
    return done + spent


def _held_back(rules: Sequence[str]) -> str:
    """Few of many rules: at a limit of e-nodes most of them are."""
    if not rules:
        return ""
    more = f" and {len(rules) - HELD} more" if len(rules) > HELD else ""
    return f"; these rules could not go on: {', '.join(rules[:HELD])}{more}"


def runs(steps: Sequence[StepView]) -> list[list[StepView]]:
    """Steps one by one, those in a row that only move elements together."""
    result: list[list[StepView]] = []
    for s in steps:
        last = result[-1][-1] if result else None
        if last and last.moves and s.moves and s.number == last.number + 1:
            result[-1].append(s)
        else:
            result.append([s])
    return result


def _run(steps: Sequence[StepView], paint: Paint) -> list[str]:
    count = Counter(s.rule for s in steps)
    said = ", ".join(f"{rule} {n}" if n > 1 else rule for rule, n in count.items())
    numbers = f"{steps[0].number + 1}-{steps[-1].number + 1}"
    cost = _changed(steps[0], steps[-1])
    return [paint("faint", f"{numbers:>4}  only move elements: {said}") + cost]


def _changed(first: StepView, last: StepView) -> str:
    """The price before the first step and after the last, where they differ."""
    if first.cost is None or last.cost is None:
        return ""
    before, after = first.cost[0], last.cost[1]
    return f"  {us(before)} -> {us(after)} us" if abs(before - after) > 1e-9 else ""


def _counted(a: Account, p: PartView, shown: int) -> str:
    steps = p.steps[1] - p.steps[0]
    if a.only:
        return f"{shown} of {steps} steps touch it, each checked"
    if not steps:
        return "no step is needed"
    return f"{steps} step{'' if steps == 1 else 's'}, each checked"


class Steps(Protocol):
    """The lines of the steps of a piece."""

    def __call__(self, steps: Sequence[StepView]) -> list[str]: ...


class _Short:
    """A step in two lines; those in a row that only move elements in one."""

    def __init__(self, paint: Paint, folded: bool) -> None:
        self.paint, self.folded = paint, folded

    def __call__(self, steps: Sequence[StepView]) -> list[str]:
        paint, lines = self.paint, list[str]()
        width = _width(steps)
        for run in runs(steps) if self.folded else [[s] for s in steps]:
            if len(run) > 1:
                lines += _run(run, paint)
            else:
                lines += _step(run[0], run[0].before, run[0].after, width, paint)
        return lines


class _Full:
    """A step with what its variables stand for, and with the terms that are met for the
    first time."""

    def __init__(self, a: Account, paint: Paint) -> None:
        self.terms = {t.number: t for t in a.terms}
        self.said: set[str] = set()
        self.paint = paint

    def __call__(self, steps: Sequence[StepView]) -> list[str]:
        lines, width = list[str](), _width(steps)
        for s in steps:
            lines += _step(s, s.whole.before, s.whole.after, width, self.paint)
            bound = (f"{k} = {v}" for k, v in s.whole.bindings.items())
            lines.append(self.paint("faint", f"      for {', '.join(bound)}"))
            for t in needed(s.whole.numbers, self.terms):
                if t.number not in self.said:
                    self.said.add(t.number)
                    lines.append(f"      {t.number} = {t.text}")
        return lines


def _width(steps: Sequence[StepView]) -> int:
    return max((len(s.rule) for s in steps), default=0)


def _step(s: StepView, before: str, after: str, width: int, paint: Paint) -> list[str]:
    back = "<-" if s.direction == "backward" else "  "
    cost = _changed(s, s)
    where = paint("faint", f"{s.file}:{s.line} ({s.equal})")
    rule = paint("rule", f"{s.rule:{width}}")
    return [
        f"{s.number + 1:4}  {rule} {back} {before}",
        f"{'':4}  {'':{width}} => {after}    {where}{cost}",
    ]


def _ablation(a: Account, paint: Paint) -> list[str]:
    """The rules that the result needs."""
    lines = [paint("head", "Without a rule")]
    result = a.ablation or ()
    width = max((len(x.rule) for x in result), default=0)
    for x in result:
        if x.rise <= 1e-9:
            continue
        lost = "; lost: " + "; ".join(x.lost) if x.lost else ""
        lines.append(f"  {x.rule:{width}}  {us(a.seconds)} -> {us(x.seconds)} us{lost}")
    idle = _idle([x.rule for x in result if x.rise <= 1e-9])
    return [*lines, *idle]


def _idle(rules: Sequence[str]) -> list[str]:
    if not rules:
        return []
    return ["  no dearer without: " + " ".join(rules)]


__all__ = ["coloured", "harmless", "plain", "prose"]
