"""What `rewrite explain` has to say, as data: text, JSON and pages are made of it.

Everything here is plain: numbers, words, tuples.  `explain.schema.json` says the same
of the JSON, field by field.  Seconds are predicted unless a name says otherwise, and
None where nothing is known.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

FORMAT = "rewrite explanation 1"


class Unexplained(ValueError):
    """A plan that cannot be explained; says what to do instead."""


class NoExplanation(ValueError):
    """JSON that is no explanation; says what was expected."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node of the graph before or after, and where it stands."""

    id: int
    kind: str  # the op as the op table has it
    op: str  # in a word or two, with the numbers that it takes
    text: str  # the user's name, else a description
    named: bool
    labels: tuple[str, ...]  # in the user's graph, as its text form has them
    type: str
    line: str  # as the text form of graphs prints it
    args: tuple[int, ...]
    outputs: tuple[str, ...]
    scope: tuple[str, ...]
    part: int | None  # the piece that it was optimized in
    copy: int  # which use of that piece
    kernels: tuple[int, ...]  # that compute it
    same: tuple[int, ...]  # nodes of the other graph that are the same term or value


@dataclass(frozen=True, slots=True)
class Parted:
    """The predicted seconds of a kernel by what they are spent on."""

    launch: float
    bytes: float
    scalar: float
    product: float


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way that was priced: `seconds` of the whole, if it were taken.

    `kind`: family, store, inline, part, own (each op a kernel), unruled (the piece as
    it was written, fused)."""

    kind: str
    what: str
    seconds: float | None
    reason: str = ""  # why it cannot be, where there is no price


@dataclass(frozen=True, slots=True)
class Held:
    """A value that a kernel computes.  `how`: stored, or inlined (computed where it is
    used); `otherwise` are the seconds of the whole, were it the other way round."""

    node: int
    text: str
    type: str
    how: str
    otherwise: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class KernelView:
    """One kernel of the schedule and why it is as it is."""

    number: int
    label: str
    family: str
    part: int | None
    like: int | None  # the kernel of the first use of the piece, which says why
    once: bool  # runs when the program is made, not in each run
    seconds: float
    parts: Parted | None
    bytes: float
    reads: tuple[str, ...]
    values: tuple[Held, ...]
    others: tuple[Alternative, ...]
    runner_up: Alternative | None


@dataclass(frozen=True, slots=True)
class TermView:
    """What a number stands for, over names and the numbers `args`."""

    number: str
    text: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """A step with nothing cut short: a value without a name of the user's goes by its
    number, and `numbers` are those that occur."""

    before: str
    after: str
    bindings: dict[str, str]
    numbers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepView:
    """One use of a rule in the proof of a piece; `nodes_*` are those that it touches,
    for each use of the piece."""

    number: int
    part: int
    rule: str
    file: str
    line: int
    direction: str  # forward or backward
    path: tuple[int, ...]
    before: str
    after: str
    bindings: dict[str, str]
    cost: tuple[float, float] | None  # of the forms before and after, op by op
    equal: str  # the rule's contract
    moves: bool  # only where elements stand: the text and the page fold such steps
    nodes_before: tuple[tuple[int, ...], ...]
    nodes_after: tuple[tuple[int, ...], ...]
    whole: Whole


@dataclass(frozen=True, slots=True)
class PartView:
    """A distinct piece of the model: it is optimized once, and stands there `uses`
    times.  `held` is empty where all rules found all that there is."""

    number: int
    uses: int
    nodes: tuple[int, int]
    own_kernels: int  # each op one
    own_seconds: float
    unruled_seconds: float  # fused, without rules
    seconds: float
    steps: tuple[int, int]  # numbers of the first and the one behind the last
    rules: tuple[str, ...]
    equal: str  # the weakest contract used
    limits: tuple[str, ...]
    held: dict[str, tuple[str, ...]]  # rules that could not go on, by the limit
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule that the proofs use."""

    name: str
    file: str
    line: int
    equal: str
    sentence: str
    text: str
    steps: int


@dataclass(frozen=True, slots=True)
class Ablation:
    """What the model costs if all is done again without one rule."""

    rule: str
    seconds: float
    rise: float  # relative
    lost: tuple[str, ...]  # kernels that are there no more


@dataclass(frozen=True, slots=True)
class Measured:
    """Largest errors over the largest value of an output, against the meaning in
    float64: of the optimized program, and of the graph as written, by NumPy.  They say
    nothing where `compared` is 0."""

    inputs: str  # how they were drawn
    output: str
    error: float
    own: float
    compared: int  # values that are finite, or not the same infinity or NaN


@dataclass(frozen=True)
class LoopView:
    """A loop, and one round of it, planned as a graph of its own; or a side of a
    branch.  Without `rounds`, values say how many there are."""

    target: str
    rounds: int | None
    round: Account


@dataclass(frozen=True)
class Account:
    """The whole decision."""

    model: str
    rewrite: str
    device: str
    precision: str
    cost: str
    rule_files: tuple[str, ...]
    sizes: dict[str, int]  # that costs are predicted at
    nodes: tuple[int, int]
    own_kernels: int
    own_seconds: float
    seconds: float
    equal: str
    before: tuple[NodeView, ...]
    after: tuple[NodeView, ...]
    kernels: tuple[KernelView, ...]
    pieces: tuple[PartView, ...]
    steps: tuple[StepView, ...]
    terms: tuple[TermView, ...]
    rules: tuple[RuleView, ...]
    limits: tuple[str, ...]
    notes: tuple[str, ...]
    measured: tuple[Measured, ...] | None
    unmeasured: str  # why nothing was measured
    ablation: tuple[Ablation, ...] | None
    only: str = ""  # the node or kernel that it is limited to
    loops: tuple[LoopView, ...] = ()

    def json(self) -> dict[str, Any]:
        """As `explain.schema.json` has it; null for infinity, which JSON has not, and
        for errors of nothing."""
        result: dict[str, Any] = {"format": FORMAT, **asdict(self)}
        for m in result["measured"] or ():
            for k in ("error", "own"):
                m[k] = m[k] if m["compared"] and math.isfinite(m[k]) else None
        for view, loop in zip(result["loops"], self.loops, strict=True):
            view["round"] = loop.round.json()
        return result
