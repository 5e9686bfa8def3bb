"""What differs between two explanations, and which rules did it.

Both are given as JSON has them, so that one of them may come from another version,
device or machine.  Kernels are the same if they do the same for the same values; the
others are paired by what both store, then by how much of the input graph they compute
together.  A rule did it if a step of its own touches the kernel on one side and none
does on the other; where several do, each is left out and all is done again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .account import FORMAT, NoExplanation
from .prose import Paint, harmless, plain, us

type Json = Mapping[str, Any]
# Kernels that are lost on one side (0 or 1) without a rule; None: it cannot be asked.
type Without = Callable[[int, str], Sequence[str] | None]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One side's kernel, as it is compared."""

    number: int
    label: str
    family: str
    seconds: float
    once: bool
    stores: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A kernel that is different, or on one side alone.  `rules` did it; `how` says how
    that is known: proof, rerun, or nothing (no rule: costs alone)."""

    before: Kernel | None
    after: Kernel | None
    rules: tuple[str, ...]
    how: str


@dataclass(frozen=True)
class Diff:
    """Two explanations beside each other."""

    names: tuple[str, str]
    seconds: tuple[float, float]
    kernels: tuple[int, int]
    same: int
    changes: tuple[Change, ...]
    rules: tuple[tuple[str, ...], tuple[str, ...]]  # that only one proof uses
    rewritten: tuple[str, ...]  # rules whose text differs
    loops: tuple[tuple[str, Diff], ...]  # one round of each that both sides have
    apart: tuple[tuple[str, ...], tuple[str, ...]]  # loops of one side alone

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return shown(self)


def diff(
    a: Json, b: Json, names: tuple[str, str],
    without: Without = lambda side, rule: None,
) -> Diff:  # fmt: skip
    """What became of `a` in `b`."""
    sides = (_Side(a, names[0]), _Side(b, names[1]))
    pairs, same = _paired(*sides)
    changes = tuple(_change(sides, p, without) for p in pairs)
    used = tuple({r["name"]: r for r in x["rules"]} for x in (a, b))
    only = tuple(tuple(sorted(used[k].keys() - used[1 - k].keys())) for k in (0, 1))
    texts = sorted(r for r in used[0].keys() & used[1].keys()
                   if used[0][r]["text"] != used[1][r]["text"])  # fmt: skip
    rounds = [{x["target"]: x["round"] for x in s.get("loops", ())} for s in (a, b)]
    loops = tuple((t, diff(x, rounds[1][t], names)) for t, x in rounds[0].items()
                  if t in rounds[1])  # fmt: skip
    return Diff(
        names, (a["seconds"], b["seconds"]),
        (len(sides[0].kernels), len(sides[1].kernels)), same, changes,
        (only[0], only[1]), tuple(texts), loops,
        (tuple(rounds[0].keys() - rounds[1]), tuple(rounds[1].keys() - rounds[0])),
    )  # fmt: skip


class _Side:
    """One explanation: what each kernel computes of the input, and by which rules."""

    def __init__(self, x: Json, name: str) -> None:
        if x.get("format") != FORMAT:
            raise NoExplanation(
                f"{name}: {FORMAT!r} was expected, as `rewrite explain --json` prints "
                "it; explain the model again"
            )
        try:
            self._read(x)
        except (KeyError, TypeError, AttributeError) as e:
            raise NoExplanation(
                f"{name}: a damaged explanation ({type(e).__name__}: {e}); explain the "
                "model again"
            ) from e

    def _read(self, x: Json) -> None:
        _ = x["seconds"], [(r["name"], r["text"]) for r in x["rules"]]
        self.kernels = [_kernel(k) for k in x["kernels"]]
        self.work: list[set[str]] = [set() for _ in self.kernels]
        at = {k.number: i for i, k in enumerate(self.kernels)}
        made: dict[int, list[int]] = {}
        for n in x["before"]:
            for k in n["kernels"]:
                if k in at:
                    self.work[at[k]].add(n["line"])
        for n in x["after"]:
            made[n["id"]] = [at[k] for k in n["kernels"] if k in at]
        self.touched: list[set[str]] = [set() for _ in self.kernels]
        for s in x["steps"]:
            for i in (i for use in s["nodes_after"] for i in use):
                for k in made.get(i, ()):
                    self.touched[k].add(s["rule"])


def _kernel(k: Json) -> Kernel:
    stores = tuple(
        f"{v['text']}: {v['type']}" for v in k["values"] if v["how"] == "stored"
    )
    return Kernel(k["number"], k["label"], k["family"], k["seconds"], k["once"], stores)


type Pair = tuple[int | None, int | None]


def _paired(a: _Side, b: _Side) -> tuple[list[Pair], int]:
    """Kernels that are not the same, paired where they share work; how many are."""
    left = _unmatched(a.kernels, b.kernels)
    right = _unmatched(b.kernels, a.kernels)
    same = len(a.kernels) - len(left)
    shared = sorted(
        ((len(a.work[i] & b.work[j]), -i, -j) for i in left for j in right),
        reverse=True,
    )
    pairs: list[Pair] = []
    for count, i, j in shared:
        if count and -i in left and -j in right:
            left.remove(-i)
            right.remove(-j)
            pairs.append((-i, -j))
    pairs += [(i, None) for i in left] + [(None, j) for j in right]
    return sorted(pairs, key=lambda p: (p[0] is None, p[0] or 0, p[1] or 0)), same


def _unmatched(mine: Sequence[Kernel], theirs: Sequence[Kernel]) -> list[int]:
    there = Counter((k.label, k.family, k.once, k.stores) for k in theirs)
    out: list[int] = []
    for i, k in enumerate(mine):
        key = (k.label, k.family, k.once, k.stores)
        if there[key]:
            there[key] -= 1
        else:
            out.append(i)
    return out


def _change(sides: tuple[_Side, _Side], pair: Pair, without: Without) -> Change:
    kernels = tuple(None if k is None else s.kernels[k]
                    for s, k in zip(sides, pair, strict=True))  # fmt: skip
    touched = tuple(set[str]() if k is None else s.touched[k]
                    for s, k in zip(sides, pair, strict=True))  # fmt: skip
    result = touched[0] ^ touched[1]
    if len(result) < 2:
        return Change(
            kernels[0], kernels[1], tuple(result), "proof" if result else "nothing"
        )
    needed: list[str] = []
    unasked: list[str] = []  # of a side that is only read
    for rule in sorted(result):
        side = int(rule in touched[1])
        lost, kernel = without(side, rule), kernels[side]
        if lost is None:
            unasked.append(rule)
        elif kernel and kernel.label in lost:
            needed.append(rule)
    if needed or not unasked:
        how = "rerun" if needed else "nothing"
        return Change(kernels[0], kernels[1], tuple(needed), how)
    return Change(kernels[0], kernels[1], tuple(unasked), "proof")


# ---- as text -------------------------------------------------------------------------


def shown(d: Diff, paint: Paint = plain) -> str:
    d = harmless(d)
    rise = d.seconds[1] / d.seconds[0] - 1 if d.seconds[0] else 0.0
    lines = [
        f"predicted  {us(d.seconds[0])} -> {us(d.seconds[1])} us ({100 * rise:+.1f} %)",
        f"kernels    {d.kernels[0]} -> {d.kernels[1]}, {d.same} the same",
        f"a          {d.names[0]}", f"b          {d.names[1]}",
    ]  # fmt: skip
    for c in d.changes:
        lines += ["", *_lines(c, paint)]
    for word, rules in zip(("a", "b"), d.rules, strict=True):
        if rules:
            lines += ["", f"rules in the proof of {word} alone: {' '.join(rules)}"]
    if d.rewritten:
        lines += ["", f"rules whose text differs: {' '.join(d.rewritten)}"]
    for target, rounds in d.loops:
        lines += ["", f"a run of {target!r}:"]
        lines += [f"  {line}".rstrip() for line in shown(rounds, paint).split("\n")]
    for word, loops in zip(("a", "b"), d.apart, strict=True):
        if loops:
            what = f"loops and branches of {word} alone, not compared"
            lines.append(f"{what}: {' '.join(loops)}")
    if not d.changes and not d.loops and not any(d.apart):
        lines += ["", "the same kernels for the same values"]
    return "\n".join(lines)


def _lines(c: Change, paint: Paint) -> list[str]:
    lines: list[str] = []
    for sign, kind, k in (("-", "dear", c.before), ("+", "rule", c.after)):
        if k is not None:
            time = "once" if k.once else f"{us(k.seconds)} us"
            text = f"{sign} k{k.number:<3} {time:>9}  {k.family:<10} {k.label}"
            lines.append(paint(kind, text))
            lines += [f"    stores {s}" for s in k.stores]
    if c.how == "nothing":
        return [*lines, "    no rule did it: the costs differ"]
    sure = "without it the kernel is lost" if c.how == "rerun" else "by the proof"
    return [*lines, f"    by {' '.join(c.rules)} ({sure})"]


__all__ = ["Diff", "diff", "shown"]
