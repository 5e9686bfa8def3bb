"""How accurate optimized graphs are on inputs that hurt.

    python -m tests.rewrite.stress [NAME ...] [--seeds N]

Each graph is optimized once and evaluated, as chosen, by the reference evaluator on
inputs far from 0, on logits of hundreds, on very large and very small ones, on rows
that are constant and on rows that are masked as a whole.  Its error against the
original in float64 may be 4 times the original's own and 4 ulp, and where the original
is finite it is finite too.  The original's own error at an element is the largest that
it shows there: as it stands, or in runs with noise of half an ulp at every rounding,
few at first and many before anything is called a failure.  A failure names a smallest
set of rules that brings it about.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np

from rewrite.authoring.models import Model
from rewrite.authoring.models import load as load_model
from rewrite.egraph.ir.dims import bind_shape
from rewrite.egraph.ir.dtypes import ALL, BF16, BOOL, F16, F32, DType
from rewrite.egraph.ir.evaluate import bind_inputs, evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, Graph, substitute, witness
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.rules.rulefile import RuleSet, load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import KernelCost
from rewrite.extract.schedule.plan import plan
from rewrite.fuzz import oracle, random_graph
from rewrite.lower.device import Caps
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.forms import KINDS, variants
from tests.transformers import transformer

SCALE = 0.35355338454246521  # of the scores of attention
MODELS = Path(__file__).parent.parent / "replay" / "models"
FACTOR, ULPS = 4, 4  # of the original's own error, and on top of it
RUNS, MORE_RUNS = 4, 60  # with noise
CAPS = Caps(
    "cpu", cpu_like=True, dtypes=frozenset(ALL), threads=8, max_threads=1,
    shared_bytes=1 << 18, vector_bytes=32,
)  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """An output element that is worse than it may be, and the rules to blame."""

    graph: str
    profile: str
    seed: int
    what: str
    rules: tuple[str, ...] = ()

    def __str__(self) -> str:
        blame = f"; rules: {', '.join(self.rules)}" if self.rules else ""
        where = f"{self.graph} on {self.profile} inputs, seed {self.seed}"
        return f"{where}: {self.what}{blame}"


# ---- inputs that hurt ----------------------------------------------------------------

type Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _constant(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Each row of one value, far from 0."""
    rows = (*shape[:-1], 1) if shape else ()
    return np.broadcast_to(1e4 * rng.uniform(0.5, 2.0, rows), shape)


PROFILES: dict[str, Draw] = {
    "usual": lambda rng, s: rng.standard_normal(s),
    "offset": lambda rng, s: 1e4 + rng.standard_normal(s),
    "logits": lambda rng, s: rng.uniform(-200, 200, s),
    "large": lambda rng, s: 1e12 * rng.standard_normal(s),
    "small": lambda rng, s: 1e-12 * rng.standard_normal(s),
    "mixed": lambda rng, s: rng.standard_normal(s) * 10.0 ** rng.integers(-8, 9, s),
    "constant": _constant,
    "zero": lambda rng, s: np.zeros(s),
    "masked": lambda rng, s: rng.standard_normal(s),
}
# Half precision ends at 65504: magnitudes that still leave a result to compare.
_NARROW = {"offset": 1e-1, "large": 1e-10, "mixed": 1e-6, "constant": 1e-1}


def draw(model: Model, profile: str, seed: int) -> dict[str, Array]:
    """A value for each input of a model."""
    sizes = {**witness(model.graph), **model.hints} if model.graph.symbols else {}
    rng = np.random.default_rng([seed, [*PROFILES].index(profile)])
    return {
        n.attrs[0]: _value(rng, n.dtype, bind_shape(n.shape, sizes), profile)
        for n in model.graph.inputs
    }


def _value(
    rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], profile: str
) -> Array:
    if dtype.is_float:
        value = PROFILES[profile](rng, shape)
        if dtype.bits < 32 and dtype is not BF16:
            value = value * _NARROW.get(profile, 1.0)
        return np.asarray(value).astype(dtype.numpy)
    value = rng.integers(0, 2, shape)
    if profile == "masked" and value.size > 1:
        value[0] = 0  # the first row in full
    return np.asarray(value).astype(dtype.numpy)


# ---- the measure ---------------------------------------------------------------------


@functools.cache
def price() -> KernelCost:
    """The cost model of a CPU of eight threads, whatever machine this is."""
    return kernel_cost(CAPS, FAMILIES)


def optimized(model: Model, rules: RuleSet) -> tuple[Graph, tuple[str, ...]]:
    """The chosen graph, and the rules that fired."""
    found = plan(model.graph, saturator(rules), price(), moves=20, hints=model.hints)
    return found.graph, tuple(found.fired)


@dataclass(frozen=True)
class Reference:
    """The original on some inputs: exact, as it stands, and how far that may be off."""

    exact: Mapping[str, Array]
    own: Mapping[str, Array]
    error: Mapping[str, Array]


def reference(graph: Graph, inputs: Mapping[str, Array], runs: int = RUNS) -> Reference:
    with np.errstate(all="ignore"):
        exact, own = evaluate(graph, inputs, "f64"), evaluate(graph, inputs)
        spread = _spread(graph, inputs, exact, runs)
        error = {
            k: np.fmax(np.abs(_wide(own[k]) - _wide(v)), spread[k])
            for k, v in exact.items()
        }
    return Reference(exact, own, error)


def _spread(
    graph: Graph, inputs: Mapping[str, Array], exact: Mapping[str, Array], runs: int
) -> dict[str, Array]:
    """The largest distance from the exact value over runs with noise.

    Where noise itself makes a NaN, as of rows masked as a whole by the least float,
    the median of the other elements stands for it.  An original all of whose elements
    become NaN by half an ulp says nothing but that its own result is finite.
    """
    fixed = expand_macros(substitute(graph, bind_inputs(graph, inputs)))
    far = {k: np.full(np.shape(v), np.nan) for k, v in exact.items()}
    for run in range(runs):
        noisy = evaluate(oracle.noisy_graph(fixed, run, 1.0), inputs, "f64")
        for k, v in noisy.items():
            far[k] = np.fmax(far[k], np.abs(_wide(v) - _wide(exact[k])))
    return {k: _filled(v) for k, v in far.items()}


def _filled(a: Array) -> Array:
    known = a[np.isfinite(a)]
    return np.where(np.isfinite(a), a, np.median(known) if known.size else np.inf)


def worse(found: Mapping[str, Array], ref: Reference) -> str | None:
    """How the worst element is worse than it may be; None where all are well."""
    with np.errstate(all="ignore"):
        for label, value in found.items():
            what = _worse(value, ref.exact[label], ref.own[label], ref.error[label])
            if what:
                return f"{label}{what}"
    return None


def _worse(found: Array, exact: Array, own: Array, error: Array) -> str | None:
    if found.dtype.kind in "biu":
        wrong = found != own
        bound = np.zeros(found.shape)
    else:
        usable = np.isfinite(own) & np.isfinite(exact)
        bound = FACTOR * error + ULPS * _ulp(exact, found.dtype)
        miss = np.abs(_wide(found) - exact)
        wrong = usable & ~(miss <= bound)
    if not wrong.any():
        return None
    excess = np.abs(_wide(found) - _wide(exact)) / (bound + 1e-300)
    excess = np.where(wrong, np.nan_to_num(excess, nan=np.inf), -1)
    at = np.unravel_index(np.argmax(excess), wrong.shape)
    return (
        f"{[int(i) for i in at]} is {found[at]}, exact {exact[at]}, "
        f"original {own[at]}, may be off by {bound[at]:.3g}; "
        f"so are {int(wrong.sum())} of {wrong.size}"
    )


def _wide(a: Array) -> Array:
    return np.asarray(a).astype(np.float64)


def _ulp(exact: Array, dtype: Any) -> Array:
    """The unit in the last place of each value; of values below all, the least."""
    info = cast(Any, ml_dtypes.finfo(dtype))
    least = float(info.smallest_normal) * float(info.eps)
    size = 2.0 ** (np.frexp(_wide(exact))[1] - 1)  # the power of two not above it
    return np.maximum(size * float(info.eps), least)


# ---- checking one model --------------------------------------------------------------


def check(
    model: Model, rules: RuleSet, profiles: Sequence[str], seeds: Sequence[int] = (0,)
) -> list[Failure]:
    """At most one failure for each profile."""
    chosen, fired = optimized(model, rules)
    out: list[Failure] = []
    for profile in profiles:
        for seed in seeds:
            inputs = draw(model, profile, seed)
            found = run(chosen, inputs)
            what = worse(found, reference(model.graph, inputs))
            if what is None:
                continue
            ref = reference(model.graph, inputs, MORE_RUNS)
            what = worse(found, ref)
            if what is not None:
                blame = culprits(model, rules.only(fired), inputs, ref)
                out.append(Failure(model.name, profile, seed, what, blame))
                break
    return out


def run(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    with np.errstate(all="ignore"):
        return evaluate(graph, inputs)


def culprits(
    model: Model, rules: RuleSet, inputs: Mapping[str, Array], ref: Reference
) -> tuple[str, ...]:
    """A smallest set of rules that still fails: halves first, then one by one (ddmin,
    Zeller 2002); empty where the choice fails without any."""

    def fails(names: Sequence[str]) -> bool:
        chosen, _ = optimized(model, rules.only(names))
        return worse(run(chosen, inputs), ref) is not None

    names, size = [r.name for r in rules.rules], len(rules.rules) // 2
    while size:
        k = 0
        while k < len(names):
            fewer = [*names[:k], *names[k + size :]]
            if fails(fewer):
                names = fewer
            else:
                k += size
        size //= 2
    return tuple(names)


# ---- the graphs ----------------------------------------------------------------------


def replayed() -> Iterator[Model]:
    """The captured networks, their weights drawn anew."""
    for path in sorted(MODELS.glob("*.onnx")):
        yield load_model(path)


def workloads(count: int) -> Iterator[Model]:
    """Variants of what must fuse, and a transformer."""
    for kind in KINDS:
        for seed in range(count):
            yield Model(f"{kind} {seed}", variants(kind, seed))
    yield Model("transformer", transformer(1, 32, 32, 4))


def macros() -> Iterator[Model]:
    """Everything that has a name, in three dtypes, with what often stands around it."""
    for dtype in (F32, F16, BF16):
        for name, make in _MAKERS.items():
            b = Builder(f"{name} {dtype}")
            yield Model(b.name, expand_macros(b.build([make(b, dtype)])))


def _row(name: str) -> Callable[[Builder, DType], int]:
    return lambda b, d: b.macro(name, [b.input("x", d, (4, 33))], (0, 1))


def _norm(b: Builder, d: DType) -> int:
    x, r = b.input("x", d, (4, 33)), b.input("r", d, (4, 33))
    gain, bias = b.input("g", d, (1, 33)), b.input("h", d, (1, 33))
    return b.macro("layer_norm", [b.bin("add", x, r), gain, bias], (0, 1), 1e-5)


def _rms(b: Builder, d: DType) -> int:
    x, gain = b.input("x", d, (4, 33)), b.input("g", d, (1, 33))
    return b.macro("rms_norm", [x, gain], (0, 1), 1e-5)


def _variance(b: Builder, d: DType) -> int:
    x = b.input("x", d, (4, 33))
    mean = b.expand(b.macro("mean", [x], (0, 1)), (4, 33))
    c = b.bin("sub", x, mean)
    return b.macro("mean", [b.bin("mul", c, c)], (0, 1))


def _attention(b: Builder, d: DType) -> int:
    q, k, v = (b.input(n, d, (2, 9, 8)) for n in "qkv")
    return b.macro("attention", [q, k, v], SCALE)


def scored() -> Iterator[Model]:
    """Softmaxes of scores that take several roundings: in attention, and of rows."""
    for dtype in (F32, F16, BF16):
        for name, score in _SCORES.items():
            b = Builder(f"{name} attention {dtype}")
            q, k, v = (b.input(n, dtype, (2, 9, 8)) for n in "qkv")
            s = score(b, b.matmul(q, b.permute(k, (0, 2, 1))), dtype)
            soft = b.macro("softmax", [s], (0, 0, 1))
            yield Model(b.name, expand_macros(b.build([b.matmul(soft, v)])))
        for name in ("softmax", "log_softmax", "logsumexp"):
            b = Builder(f"scaled {name} {dtype}")
            x = _by(b, "mul", b.input("x", dtype, (4, 33)), SCALE, dtype)
            yield Model(b.name, expand_macros(b.build([b.macro(name, [x], (0, 1))])))


def _by(b: Builder, op: str, x: int, value: float, d: DType) -> int:
    return b.bin(op, *b.broadcast(x, b.const(value, d)))


def _causal(b: Builder, s: int, d: DType) -> int:
    keep = b.broadcast(b.input("keep", BOOL, (9, 9)), s)[0]
    low = b.broadcast(b.const(float("-inf"), d), s)[0]
    return b.select(keep, _by(b, "mul", s, SCALE, d), low)


def _capped(b: Builder, s: int, d: DType) -> int:
    return _by(b, "mul", b.un("tanh", _by(b, "mul", s, SCALE / 30, d)), 30.0, d)


def _alibi(b: Builder, s: int, d: DType) -> int:
    slope, distance = b.input("slope", d, (2, 1, 1)), b.input("far", d, (9, 9))
    bias = b.bin("mul", *b.broadcast(slope, distance))
    return b.bin("add", *b.broadcast(_by(b, "mul", s, SCALE, d), bias))


_SCORES: dict[str, Callable[[Builder, int, DType], int]] = {
    "causal": _causal, "capped": _capped, "alibi": _alibi,
}  # fmt: skip


def _masked(b: Builder, d: DType) -> int:
    """Attention whose mask may hide all of a row, guarded as frameworks do it."""
    q, k, v = (b.input(n, d, (9, 8)) for n in "qkv")
    keep = b.input("keep", BOOL, (9, 9))
    scores = b.matmul(q, b.permute(k, (1, 0)))
    scores = b.bin("mul", *b.broadcast(scores, b.const(SCALE, d)))
    low = b.broadcast(b.const(float("-inf"), d), scores)[0]
    soft = b.macro("softmax", [b.select(keep, scores, low)], (0, 1))
    none = b.broadcast(b.const(0.0, d), soft)[0]
    return b.matmul(b.select(b.un("isnan", soft), none, soft), v)


def _mlp(b: Builder, d: DType) -> int:
    x, w = b.input("x", d, (4, 33)), b.input("w", d, (33, 17))
    y = b.bin("add", *b.broadcast(b.matmul(x, w), b.input("h", d, (17,))))
    return b.matmul(b.un("gelu", y), b.input("u", d, (17, 5)))


def _scaled(b: Builder, d: DType) -> int:
    """A product with scales on both sides, as of quantised or normed operands."""
    x, w = b.input("x", d, (4, 33)), b.input("w", d, (33, 17))
    s = b.expand(b.input("s", d, (4, 1)), (4, 33))
    y = b.matmul(b.bin("mul", x, s), w)
    return b.bin("div", *b.broadcast(y, b.input("t", d, (1, 17))))


def _scores(b: Builder, d: DType) -> int:
    """The mean loss of rows of logits."""
    x, y = b.input("x", d, (4, 33)), b.input("y", d, (4, 33))
    loss = b.bin("mul", b.macro("log_softmax", [x], (0, 1)), y)
    return b.un("neg", b.reduce("sum", loss, [0, 1]))


_MAKERS: dict[str, Callable[[Builder, DType], int]] = {
    **{n: _row(n) for n in ("softmax", "log_softmax", "logsumexp", "mean")},
    "layer_norm": _norm, "rms_norm": _rms, "variance": _variance,
    "attention": _attention, "masked attention": _masked, "mlp": _mlp,
    "scaled product": _scaled, "cross entropy": _scores,
}  # fmt: skip


def drawn(count: int) -> Iterator[Model]:
    """Random graphs without discontinuous steps after inexact ones."""
    for seed in range(count):
        graph = random_graph(seed, "smooth")
        yield Model(f"random {seed}", graph)


def everything(count: int) -> Iterator[Model]:
    yield from macros()
    yield from workloads(count)
    yield from replayed()
    yield from drawn(10 * count)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="stress the accuracy of chosen graphs")
    parser.add_argument("names", nargs="*", help="graphs whose names start so; all")
    parser.add_argument("--seeds", type=int, default=10, help="variants of a workload")
    given = parser.parse_args(arguments)
    rules = load_rules()
    failures: list[Failure] = []
    graphs = 0
    for model in everything(given.seeds):
        if given.names and not model.name.startswith(tuple(given.names)):
            continue
        graphs += 1
        found = check(model, rules, tuple(PROFILES))
        failures += found
        print("".join(f"{f}\n" for f in found), end="", flush=True)
    print(
        f"{graphs} graphs on {len(PROFILES)} kinds of inputs: {len(failures)} failures"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
