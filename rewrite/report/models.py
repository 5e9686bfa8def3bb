"""The page of an optimized ONNX model: its operators before and after.

An operator is chosen for values that rules prove equal; what is chosen is compared by
running both models.  There is no proof step by step here: constants are computed, and
operators take in several steps.  So the page moves through what changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import RuleSet

from .network import Fates, Network, fates, network, plain
from .operators import OperatorView, operators
from .proofs import rule_view
from .viewer import paged

if TYPE_CHECKING:
    from rewrite.core.options import Precision
    from rewrite.onnx.write.optimize import Optimized

LISTS = {"steps": "changes", "operators": "operators", "rules": "rules"}
KINDS = 4  # of operators in the words for a change


@dataclass(frozen=True, slots=True)
class Change:
    """Nodes that changed and hang together, in the model before and in that after."""

    text: str
    before: tuple[int, ...]
    after: tuple[int, ...]


def models_html(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    found: Optimized,
    title: str,
    precision: Precision = "default",
    rules: Sequence[Path] = (),
) -> str:
    """A page that needs nothing but a browser; its figures are also in it as JSON."""
    known = load_rules(rules or None, precision, goal="operators")
    data = models_json(before, after, found, title, precision, known)
    return paged(f"{plain(title)}: before and after", data, LISTS, "models.js")


def models_json(
    before: onnx.ModelProto, after: onnx.ModelProto, found: Optimized, title: str,
    precision: Precision, rules: RuleSet,
) -> dict[str, Any]:  # fmt: skip
    nets = network(before), network(after)
    fate = fates(*nets)
    there, here = _twins(fate, nets)
    sides = (
        operators(nets[0], fate.before, there), operators(nets[1], fate.after, here),
    )  # fmt: skip
    states = {**Counter(fate.before), "new": fate.after.count("new")}
    return {
        "model": plain(title),
        "figures": _figures(found),
        "notes": _notes(found, precision),
        "states": {s: states.get(s, 0) for s in ("kept", "changed", "gone", "new")},
        "before": [asdict(n) for n in sides[0]],
        "after": [asdict(n) for n in sides[1]],
        "changes": [asdict(c) for c in changes(nets, sides)],
        "operators": _kinds(*nets),
        "rules": _matched(found.fired, rules),
        "kernels": [], "pieces": [],
        "summary": found.summary(),
    }  # fmt: skip


def _twins(
    fate: Fates, nets: tuple[Network, Network]
) -> tuple[list[int | None], list[int | None]]:
    there: list[int | None] = [None] * len(nets[0].nodes)
    here: list[int | None] = [None] * len(nets[1].nodes)
    for i, k in fate.same:
        there[i], here[k] = k, i
    return there, here


# ---- what changed --------------------------------------------------------------------


def changes(
    nets: tuple[Network, Network],
    sides: tuple[Sequence[OperatorView], Sequence[OperatorView]],
) -> list[Change]:
    """Nodes that are gone or new hang together where one reads the other, and across
    the models where they make a value of one name.  A node that has other inputs is in
    both models: it hangs together with what it reads, and not with what reads it."""
    groups = _Groups()
    makers: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for side, (net, nodes) in enumerate(zip(nets, sides, strict=True)):
        state = {n.id: n.state for n in nodes}
        for n in (n for n in nodes if n.state not in ("kept", "")):
            read = [(side, a) for a in n.args if state[a] in ("gone", "new")]
            groups.join([(side, n.id), *read])
            for name in filter(None, net.nodes[n.id].output):
                makers[name].append((side, n.id))
    for same in makers.values():
        groups.join(same)
    return [_change(nets, members) for members in groups.all()]


class _Groups:
    """Disjoint sets of nodes of both models."""

    def __init__(self) -> None:
        self.up: dict[tuple[int, int], tuple[int, int]] = {}

    def root(self, n: tuple[int, int]) -> tuple[int, int]:
        self.up.setdefault(n, n)
        while self.up[n] != n:
            self.up[n] = self.up[self.up[n]]
            n = self.up[n]
        return n

    def join(self, nodes: Sequence[tuple[int, int]]) -> None:
        first = self.root(nodes[0])
        for n in nodes[1:]:
            self.up[self.root(n)] = first

    def all(self) -> list[list[tuple[int, int]]]:
        """In the order of their first nodes; those of the model before come first."""
        result: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for n in sorted(self.up):
            result[self.root(n)].append(n)
        return list(result.values())


def _change(
    nets: tuple[Network, Network], members: Sequence[tuple[int, int]]
) -> Change:
    before, after = (tuple(i for side, i in members if side == k) for k in (0, 1))
    words = [
        _counted(plain(net.nodes[i].op_type) for i in ids)
        for net, ids in zip(nets, (before, after), strict=True)
    ]
    return Change(f"{words[0]} → {words[1]}", before, after)


def _counted(kinds: Iterable[str]) -> str:
    count = Counter(kinds)
    shown = [f"{k} ×{n}" if n > 1 else k for k, n in list(count.items())[:KINDS]]
    return ", ".join(shown + ["…"] * (len(count) > KINDS)) or "nothing"


# ---- beside the graphs ---------------------------------------------------------------


def _matched(fired: Mapping[str, int], rules: RuleSet) -> list[dict[str, Any]]:
    known = {r.name for r in rules.rules}
    used = sorted(fired.items(), key=lambda x: (-x[1], x[0]))
    return [
        asdict(rule_view(rules, name, times)) | {"uses": times}
        for name, times in used
        if name in known and times
    ]


def _kinds(before: Network, after: Network) -> list[tuple[str, int, int]]:
    """How often each operator occurs, those with the largest difference first."""
    a, b = (Counter(plain(n.op_type) for n in net.nodes) for net in (before, after))
    rows = [(kind, a[kind], b[kind]) for kind in a | b]
    return sorted(rows, key=lambda r: (-abs(r[2] - r[1]), -max(r[1:]), r[0]))


def _figures(found: Optimized) -> list[list[str]]:
    """A name, then what was and what is, or one value alone."""
    b, a = found.before, found.after
    rows = [
        ["operators", f"{b.nodes:,}", f"{a.nodes:,}"],
        ["parameters", bytes_text(b.parameters), bytes_text(a.parameters)],
    ]
    if found.predicted is not None:
        rows.append(["predicted time", *map(seconds_text, found.predicted)])
    if found.measured:
        rows.append(["measured time", *map(seconds_text, found.measured)])
    error = "not compared" if found.error is None else f"{found.error:.1e}"
    return [*rows, ["outputs differ by", "0" if found.error == 0 else error]]


def _notes(found: Optimized, precision: Precision) -> list[str]:
    lines = [f"optimized in {seconds_text(found.seconds)} at precision {precision}"]
    if found.error is not None:
        lines.append("the difference of outputs is that on random inputs, relative to "
                     "the largest value of an output")  # fmt: skip
    return [*lines, *(plain(n, 1000) for n in found.notes)]


def seconds_text(seconds: float) -> str:
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def bytes_text(count: float) -> str:
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**power:
            return f"{count / 1000**power:.3g} {unit}"
    return f"{count:.0f} B"


__all__ = ["bytes_text", "models_html", "models_json", "seconds_text"]
