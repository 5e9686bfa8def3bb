"""Asks `derive` for the substitutions that TASO published.

    python bench/programs/taso.py graph_subst.pb [--rules FILE.egg] [--missing]
                                  [--precision default] [--only WORD]

The file is `graph_subst.pb` of github.com/jiazhihao/TASO (Jia et al., 2019).  Each
substitution is two graphs with the same outputs; sizes are the smallest that tell axes
apart where the operators leave them free.  Prints how many the rules show; with
`--missing` those that they do not, by operators, with what is missing.  Exits with 1
where one is not shown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rewrite.authoring.derive import ask
from rewrite.authoring.derive.derivation import Answer
from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.rules.ruleset import PRECISIONS

# ---- the file: protocol buffers, of which it uses numbers and messages ---------------

OPS = (
    "input", "weight", "any", "conv2d", "dropout", "linear", "pool2d_max", "pool2d_avg",
    "relu", "sigmoid", "tanh", "batchnorm", "concat", "split", "reshape", "transpose",
    "ewadd", "ewmul", "matmul", "mul", "enlarge", "merge_gconv", "const_imm",
    "const_iconv", "const_one", "const_pool",
)  # fmt: skip
PARAMETERS = (
    "op", "inputs", "outputs", "group", "kernel_h", "kernel_w", "stride_h", "stride_w",
    "pad", "activation", "rank", "axis", "perm", "outshuffle", "count",
)  # fmt: skip
NONE, RELU, SAME = 0, 2, 0  # activations, a padding


@dataclass(frozen=True)
class Term:
    """`op` is an operator's name, or "input" with its number as `output`."""

    op: str
    args: tuple[Term, ...] = ()
    said: tuple[tuple[str, int], ...] = ()
    output: int = 0

    def __getitem__(self, name: str) -> int:
        return dict(self.said)[name]  # the operator's parameter

    def __str__(self) -> str:
        if self.op == "input":
            return f"x{self.output}"
        words = (f"{k}={v}" for k, v in self.said if k in ("axis", "activation") and v)
        name = f"{self.op}{self.output}" if self.op == "split" else self.op
        return f"({' '.join([name, *words, *map(str, self.args)])})"


type Substitution = tuple[tuple[Term, Term], ...]  # both sides of each output
type Message = Mapping[int, Sequence[int | bytes]]


def read(data: bytes) -> Iterator[Substitution]:
    for rule in messages(message(data), 1):
        left, right = (messages(rule, side) for side in (1, 2))
        yield tuple(
            (term(left, number(o, 1), number(o, 3)),
             term(right, number(o, 2), number(o, 4)))
            for o in messages(rule, 3)
        )  # fmt: skip


def term(ops: Sequence[Message], op: int, output: int) -> Term:
    if op < 0:
        return Term("input", output=-op)
    made = ops[op]
    args = (term(ops, number(a, 1), number(a, 2)) for a in messages(made, 2))
    said = ((PARAMETERS[number(p, 1)], number(p, 2)) for p in messages(made, 3))
    return Term(OPS[number(made, 1)], tuple(args), tuple(said), output)


def message(data: bytes) -> Message:
    """The fields by their numbers."""
    found: dict[int, list[int | bytes]] = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        elif key & 7:
            raise ValueError(f"byte {at}: a number or a message was expected")
        found.setdefault(key >> 3, []).append(value)
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return (value - (1 << 64) if value >> 63 else value), at


def messages(m: Message, number: int) -> list[Message]:
    return [message(x) for x in m.get(number, ()) if isinstance(x, bytes)]


def number(m: Message, number: int) -> int:
    value = m[number][0]
    assert isinstance(value, int)
    return value


# ---- sizes: what operators ask of them, by unification -------------------------------

SIZES = (2, 4, 5, 6, 7, 9, 8, 10, 11, 12, 13)
FILTER = 3


@dataclass
class Sizes:
    """Classes of sizes that must be equal.  A size may be a sum of two (`parts`) or
    known (`fixed`)."""

    rank: int
    up: list[int] = field(default_factory=list[int])
    parts: dict[int, tuple[int, int]] = field(
        default_factory=dict[int, tuple[int, int]]
    )
    fixed: dict[int, int] = field(default_factory=dict[int, int])
    inputs: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    known: dict[int, int] = field(default_factory=dict[int, int])

    def new(self) -> int:
        self.up.append(len(self.up))
        return self.up[-1]

    def find(self, a: int) -> int:
        while self.up[a] != a:
            a = self.up[a]
        return a

    def same(self, a: int, b: int) -> None:
        a, b = self.find(a), self.find(b)
        if a == b:
            return
        self.up[b] = a
        known, other = self.parts.pop(a, None), self.parts.pop(b, None)
        if b in self.fixed:
            self.fixed[a] = self.fixed.pop(b)
        if known or other:
            self.parts[self.find(a)] = known or other or (0, 0)
        if known and other:
            for x, y in zip(known, other, strict=True):
                self.same(x, y)

    def sum(self, a: int, b: int) -> int:
        a, b = self.find(a), self.find(b)
        for c, (x, y) in self.parts.items():
            if (self.find(x), self.find(y)) == (a, b):
                return self.find(c)
        made = self.new()
        self.parts[made] = (a, b)
        return made

    def of(self, t: Term) -> list[int]:
        """The sizes of a term, by axis; states what it asks of those below."""
        if t.op == "input":
            axes = self.inputs.setdefault(t.output, [])
            axes += [self.new() for _ in range(self.rank - len(axes))]
            return axes
        args = [self.of(a) for a in t.args]
        if t.op == "matmul":
            self.same(args[0][1], args[1][0])
            return [args[0][0], args[1][1]]
        if t.op == "conv2d":
            return self._convolved(*args)
        out = list(args[0])
        for axis in range(self.rank):
            if t.op == "concat" and axis == t["axis"]:
                out[axis] = self.sum(args[0][axis], args[1][axis])
            elif len(args) == 2:
                self.same(args[0][axis], args[1][axis])
        if t.op == "split":
            axis = t["axis"]
            out[axis] = self.parts[self.find(out[axis])][t.output]
        return out

    def _convolved(self, x: list[int], w: list[int]) -> list[int]:
        """One group, unless filters see as many channels as each part of the image."""
        for axis in (2, 3):
            three = self.new()
            self.fixed[three] = FILTER
            self.same(w[axis], three)
        whole = self.parts.get(self.find(x[1]))
        filters = self.parts.get(self.find(w[1]))
        if whole is None or filters is not None:
            self.same(x[1], w[1])
        else:
            for part in whole:
                self.same(part, w[1])
            outputs = self.parts.get(self.find(w[0]))
            if outputs is not None:
                self.same(*outputs)  # groups have as many each
        return [x[0], w[0], x[2], x[3]]

    def size(self, a: int) -> int:
        """A number; another one for each class that is free."""
        a = self.find(a)
        if a in self.parts:
            return sum(map(self.size, self.parts[a]))
        if a in self.fixed:
            return self.fixed[a]
        if a not in self.known:
            self.known[a] = SIZES[len(self.known)]
        return self.known[a]


def solved(s: Substitution) -> Sizes:
    ranks = [t["rank"] for t in operators(s) if t.op == "concat"]
    convolves = any(t.op == "conv2d" for t in operators(s))
    sizes = Sizes(4 if convolves else max(ranks, default=2))
    for _ in range(3):  # until what is asked below a sum has met what is asked above
        for left, right in s:
            for a, b in zip(sizes.of(left), sizes.of(right), strict=True):
                sizes.same(a, b)
    return sizes


def operators(s: Substitution) -> Iterator[Term]:
    def below(t: Term) -> Iterator[Term]:
        if t.op != "input":
            yield t
        for a in t.args:
            yield from below(a)

    for pair in s:
        for side in pair:
            yield from below(side)


# ---- graphs --------------------------------------------------------------------------


def graphs(s: Substitution) -> tuple[Graph, Graph]:
    sizes = solved(s)
    return (
        graph([left for left, _ in s], sizes), graph([right for _, right in s], sizes)
    )  # fmt: skip


def graph(outputs: Sequence[Term], sizes: Sizes) -> Graph:
    b = Builder("side")
    where: dict[Term, int] = {}
    for k, axes in sorted(sizes.inputs.items()):
        shape = tuple(map(sizes.size, axes))
        where[Term("input", output=k)] = b.input(f"x{k}", F32, shape)

    def node(t: Term) -> int:
        if t not in where:
            where[t] = made(b, sizes, t, [node(a) for a in t.args])
        return where[t]

    return expand_macros(b.build([node(t) for t in outputs]))


def made(b: Builder, sizes: Sizes, t: Term, args: Sequence[int]) -> int:
    match t.op:
        case "ewadd":
            return b.bin("add", *args)
        case "ewmul":
            return b.bin("mul", *args)
        case "relu":
            return b.un("relu", *args)
        case "concat":
            return b.concat(args, t["axis"])
        case "split":
            return part(b, sizes, t, *args)
        case "matmul":
            out = b.matmul(*args)
        case "conv2d":
            out = convolved(b, t, *args)
        case _:
            raise NotImplementedError(f"{t.op}: TASO's file of 2019 does not use it")
    return b.un("relu", out) if t["activation"] == RELU else out


def convolved(b: Builder, t: Term, x: int, w: int) -> int:
    """By a filter of three by three in steps of one, the image keeping its size."""
    words = ("kernel_h", "kernel_w", "stride_h", "stride_w", "pad")
    assert [t[k] for k in words] == [FILTER, FILTER, 1, 1, SAME], t.said
    channels, seen = b.type(x).shape[1], b.type(w).shape[1]
    assert isinstance(channels, int) and isinstance(seen, int)
    frame = Frame(channels // seen, (1, 1), (1, 1), (1, 1), (1, 1))
    bias = b.const(0, F32, b.shape(w)[:1])
    return b.macro("conv", [x, w, bias], frame.vector)


def part(b: Builder, sizes: Sizes, t: Term, x: int) -> int:
    """What a concatenation below brought in, from the start or up to the end."""
    shape, axis = [*b.type(x).shape], t["axis"]
    whole, size = shape[axis], sizes.size(sizes.of(t)[axis])
    start = [0] * len(shape)
    if t.output:
        assert isinstance(whole, int)
        start[axis] = whole - size
    shape[axis] = size
    return b.slice(x, start, shape, [1] * len(shape))


# ---- the table -----------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    add = parser.add_argument
    add("file", type=Path, metavar="graph_subst.pb")
    add("--rules", type=Path, action="append", default=[], help="beside the bundled")
    add("--precision", default="default", choices=PRECISIONS)
    add("--missing", action="store_true", help="show what is not shown, and its gap")
    add("--only", default="", help="substitutions whose text contains it")
    return parser.parse_args()


def text(s: Substitution) -> str:
    return "; ".join(f"{a} = {b}" for a, b in s)


def kind(s: Substitution) -> str:
    return " ".join(sorted({t.op for t in operators(s)}))


def gap(answer: Answer) -> Iterator[str]:
    yield f"    {answer.verdict}" + (f", {answer.stopped}" if answer.stopped else "")
    if answer.gap:
        for m in answer.gap.missing:
            yield f"    missing: {m.left} = {m.right}"


def main() -> int:
    args = arguments()
    asked = [s for s in read(args.file.read_bytes()) if args.only in text(s)]
    missing: dict[str, list[tuple[Substitution, Answer]]] = {}
    for s in asked:
        answer = ask(*graphs(s), args.rules, args.precision, shorten=False)
        if answer.verdict != "equal":
            missing.setdefault(kind(s), []).append((s, answer))
    for ops, found in sorted(missing.items()):
        print(f"{len(found):4} not shown: {ops}")
        for s, answer in found if args.missing else ():
            print(f"  {text(s)}", *gap(answer), sep="\n")
    lost = sum(map(len, missing.values()))
    print(f"{len(asked) - lost} of {len(asked)} substitutions are shown")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
