"""Results as text: a table that terminals and pages both show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench.peers.page import milliseconds

from .contestants import CONTESTANTS, OURS
from .orders import FLOPS, MOVED, Order
from .race import TIMES, ULPS, WRONG, Result, geometric

INTRODUCTION = f"""# Programs whose best form grows slower than what is written

Written by the command below.  Milliseconds of one result, `float32`, one process, all
with the same number of threads, in turns, medians.  The programs are in
`bench/programs/`, each written once for all contestants.  *Ratio*: the best peer's time
over ours; the best is in bold.  *Flops*: those of our plan, and how many times the best
form's that we know; a plan is in its best order of growth with at most {FLOPS:g} times
the flops and {MOVED:g} times the bytes.  *Error*: ours beside float64, of the largest
value, and NumPy's.  A program is *met* where ours is in its best order, no slower than
the best peer, and its error at most {TIMES:g} times NumPy's and {ULPS} ulp.  Who is
wrong by more than {WRONG:g} takes no part.
"""

HEAD = (
    "program", "n", "grows", *CONTESTANTS, "ratio", "flops", "x best", "error",
    "NumPy's", "is",
)  # fmt: skip

type Entry = tuple[Order, Result]


def verdict(entry: Entry) -> str:
    order, result = entry
    if not order.is_best:
        return f"far, {result.verdict}"
    return "met" if result.verdict == "faster" else result.verdict


def cells(entry: Entry) -> list[str]:
    """A row of the table."""
    order, r = entry
    ratio = "-" if r.ratio is None else f"{r.ratio:.2f}"
    return [
        r.program.name, str(r.n), r.program.growth, *(_time(r, x) for x in CONTESTANTS),
        ratio, f"{order.flops:.2g}", f"{order.times_best:.1f}", _error(r, OURS),
        _error(r, "NumPy"), verdict(entry),
    ]  # fmt: skip


def _time(r: Result, name: str) -> str:
    if name not in r.figures:
        return "-"
    shown = milliseconds(r.figures[name].seconds)
    return f"**{shown}**" if name == r.best else shown


def _error(r: Result, name: str) -> str:
    return f"{r.figures[name].error:.0e}" if name in r.figures else "-"


def table(entries: Sequence[Entry]) -> Iterator[str]:
    rows = [list(HEAD), *map(cells, entries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    rows.insert(1, ["-" * w for w in widths])
    for row in rows:
        padded = (c.ljust(w) for c, w in zip(row, widths, strict=True))
        yield f"| {' | '.join(padded)} |"


def summary(entries: Sequence[Entry]) -> Iterator[str]:
    for n in sorted({r.n for _, r in entries}):
        mine = [e for e in entries if e[1].n == n]
        results = [r for _, r in mine]
        mean, ratios = geometric(results), [r.ratio for r in results if r.ratio]
        best = sum(o.is_best for o, _ in mine)
        met = sum(verdict(e) == "met" for e in mine)
        if mean is not None:
            yield (
                f"n = {n}: geometric mean of {len(ratios)} ratios {mean:.2f}, least "
                f"{min(ratios):.2f}, {sum(x < 1 for x in ratios)} below 1; {best} of "
                f"{len(mine)} in their best order; {met} met."
            )


def reasons(entries: Sequence[Entry]) -> Iterator[str]:
    """Why someone is missing, once for all who are for the same reason."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for _, r in entries:
        for name, why in r.absent.items():
            found.setdefault((name, why), {})[r.program.name] = None
    for (name, why), where in found.items():
        yield f"- {name}: {why}: {', '.join(where)}"


def page(command: str, facts: Mapping[str, str], entries: Sequence[Entry]) -> str:
    """The whole page."""
    known = "\n".join(f"- {key}: {value}" for key, value in facts.items())
    lines = [*table(entries), "", *summary(entries)]
    parts = [INTRODUCTION, f"    {command}\n", known + "\n", "\n".join(lines) + "\n"]
    missing = list(reasons(entries))
    if missing:
        parts.append("\n".join(["## Who is missing, and why", "", *missing]) + "\n")
    return "\n".join(parts)
