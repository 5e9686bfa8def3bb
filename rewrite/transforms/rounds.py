"""Derivatives of loops: a loop again, of a round that is linearized.

Tangents run through the rounds as the loop does, cotangents the other way.  Both need
what each round was given: carries are kept as a stack of the loop itself (`keeping`),
and what a round computes of them is computed again.  An open loop has as many rounds as
its values say, which no stack holds: its tangents run beside its carries, and it has no
way back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.looping.build import call_name
from rewrite.egraph.looping.loop import Loop

from ..xp.functions.creation import zeros, zeros_like
from ..xp.functions.manipulation import concat, reshape, slice_axis
from ..xp.tracer import TraceError, Tracer, current, lift, tracing, wrap
from .activity import varying
from .inside import Inside, parts_of, runs_of
from .linear import Found, Linearize, total

# ---- what a loop keeps ---------------------------------------------------------------


def kept(loop: Loop) -> dict[int, int]:
    """By carry: which of the results is the stack of what it becomes."""
    stacks = {loop.output(r): n for n, r in enumerate(loop.results) if loop.is_stack(r)}
    return {k: stacks[j] for k, j in enumerate(loop.carried) if j in stacks}


def left(loop: Loop) -> list[int]:
    """Carries of its own dtype that it could keep and does not."""
    if loop.is_open:
        return []
    own = [k for k in range(loop.carries) if loop.of(k).dtype is loop.dtype]
    return [k for k in own if k not in kept(loop)]


def keeping(loop: Loop, args: Sequence[Tracer]) -> Tracer:
    """The same array, of a loop that keeps its carries of that dtype as well."""
    more = _with_stacks(loop, left(loop))
    flat = _call(replace(more, results=(*loop.results, *more.results)), args)
    return slice_axis(flat, 0, 0, loop.starts(_rounds(loop, args))[-1])


def _with_stacks(loop: Loop, carries: Sequence[int]) -> Loop:
    """A loop that gives the stacks of what these carries become, and no more."""
    first = loop.carries + len(loop.stacked)
    return replace(
        loop, stacked=(*loop.stacked, *(loop.carried[k] for k in carries)),
        results=tuple(first + n for n in range(len(carries))),
    )  # fmt: skip


def _call(loop: Loop, args: Sequence[Tracer]) -> Tracer:
    b = current()
    whole = loop.starts(runs_of(loop, args))[-1]
    name, operands = call_name(b, "loop", loop.body.name), [a.node for a in args]
    return wrap(b.call(name, loop, operands, loop.dtype, (whole,)))


def _rounds(loop: Loop, args: Sequence[Tracer]) -> Dim:
    return args[loop.carries].shape[0]


# ---- its derivative ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rounds:
    """The linear map from all operands of a loop that keeps its carries."""

    loop: Loop
    args: Sequence[Tracer]
    flat: Tracer
    linearize: Linearize

    def push(self, tangents: Mapping[int, Tracer]) -> Tracer:
        """`tangents` by operand."""
        loop, flow = self.loop, self._varying(tangents.keys())
        if loop.is_open:
            return self._beside(tangents, flow)
        inside, values = self._opened(self.args, self.flat)
        labels = [n.attrs[0] for n in loop.inputs]
        along: dict[str, Tracer] = {}
        for k in sorted(flow):
            add = inside.carry if k < loop.carries else self._kind(inside, k)
            given = tangents.get(k)
            x = zeros_like(self.args[k]) if given is None else given
            along[labels[k]] = add(f"tangent of {labels[k]}", x)
        with tracing(inside.b):
            linear = self.linearize(loop.body, values, {labels[k] for k in flow})
            made = linear.push(along)
            outputs = [label for label, _ in loop.body.outputs]

            def tangent(j: int) -> Tracer:
                label = outputs[j]
                ready = made.get(label)
                return zeros_like(linear.values[label]) if ready is None else ready

            inside.carried = [tangent(loop.carried[k]) for k in self._carries(flow)]
            stacks = [r for r in loop.results if loop.is_stack(r)]
            inside.stacked = [tangent(loop.output(r)) for r in stacks]
        last, stacked = inside.close(loop.reverse)
        found = dict(zip(self._carries(flow), last, strict=True))
        found |= dict(zip(stacks, stacked, strict=True))
        return self._flat(found)

    def _beside(self, tangents: Mapping[int, Tracer], flow: Collection[int]) -> Tracer:
        """Of an open loop, whose carries are computed again."""
        loop, inside = self.loop, Inside(self.loop.body.name)
        labels = [n.attrs[0] for n in loop.inputs]

        def add(k: int) -> Callable[[str, Tracer], Tracer]:
            return inside.carry if k < loop.carries else inside.same

        values = {
            label: add(k)(label, x)
            for k, (label, x) in enumerate(zip(labels, self.args, strict=True))
        }
        along: dict[str, Tracer] = {}
        for k in sorted(flow):
            given = tangents.get(k)
            x = zeros_like(self.args[k]) if given is None else given
            along[labels[k]] = add(k)(f"tangent of {labels[k]}", x)
        carries = self._carries(flow)
        with tracing(inside.b):
            linear = self.linearize(loop.body, values, {labels[k] for k in flow})
            made = linear.push(along)
            outputs = [loop.body.outputs[j][0] for j in loop.carried]
            inside.carried = [linear.values[label] for label in outputs]
            inside.carried += [
                made[outputs[k]] if outputs[k] in made
                else zeros_like(linear.values[outputs[k]])
                for k in carries
            ]  # fmt: skip
        last, _ = inside.close(False)
        return self._flat(dict(zip(carries, last[loop.carries :], strict=True)))

    def _flat(self, found: Mapping[int, Tracer]) -> Tracer:
        """These results, and zeros for others, as the loop gives them."""
        shapes = self.loop.shapes(runs_of(self.loop, self.args))
        every = [
            found[r] if r in found else zeros(shape, dtype=self.loop.dtype)
            for r, shape in zip(self.loop.results, shapes, strict=True)
        ]
        return concat([reshape(x, (-1,)) for x in every], axis=0)

    def pull(
        self, cotangent: Tracer, wanted: Collection[int], found: Found = lift
    ) -> dict[int, Tracer]:
        """Cotangents of the operands `wanted`."""
        loop, flow = self.loop, self._varying(wanted)
        if loop.is_open:
            raise TraceError(
                f"the gradient of the while_loop of {loop.body.name!r}: nothing says "
                "how many rounds to keep for the way back. Use xp.scan with as many "
                "rounds as there may be (length=), which does nothing once it is done, "
                "as by xp.where; rewrite.jvp differentiates it as it is"
            )
        args = [found(a) for a in self.args]
        rounds = _rounds(loop, args)
        inside, values = self._opened(args, found(self.flat))
        labels = [n.attrs[0] for n in loop.inputs]
        outputs = [label for label, _ in loop.body.outputs]
        parts = dict(zip(loop.results, parts_of(loop, cotangent, rounds), strict=True))
        terms: dict[str, list[Tracer]] = {}
        carries = self._carries(flow)
        for k in carries:
            last = parts[k] if k in parts else zeros_like(args[k])
            t = inside.carry(f"cotangent of {labels[k]}", last)
            terms.setdefault(outputs[loop.carried[k]], []).append(t)
        for r, part in parts.items():
            if loop.is_stack(r):
                t = inside.entry(f"cotangent of result {r}", part)
                terms.setdefault(outputs[loop.output(r)], []).append(t)
        same = [k for k in sorted(flow) if k >= loop.carries + loop.sequences]
        sums = [inside.carry(f"sum for {labels[k]}", zeros_like(args[k])) for k in same]
        entries = [k for k in sorted(flow) if k not in carries and k not in same]
        with tracing(inside.b):
            linear = self.linearize(loop.body, values, {labels[k] for k in flow})
            made = linear.pull({label: total(ts) for label, ts in terms.items()})

            def slope(k: int) -> Tracer:
                ready = made.get(labels[k])
                return zeros_like(values[labels[k]]) if ready is None else ready

            inside.carried = [slope(k) for k in carries]
            inside.carried += [s + slope(k) for s, k in zip(sums, same, strict=True)]
            inside.stacked = [slope(k) for k in entries]
        last, stacked = inside.close(not loop.reverse)
        back = dict(zip((*carries, *same), last, strict=True))
        back |= dict(zip(entries, stacked, strict=True))
        return {k: back[k] for k in wanted}

    def _varying(self, given: Collection[int]) -> frozenset[int]:
        """The operands that vary in some round if these do: carries join them."""
        loop, flow = self.loop, set(given)
        while True:
            labels = {loop.inputs[k].attrs[0] for k in flow}
            active = varying(loop.body, labels)
            outputs = [i for _, i in loop.body.outputs]
            more = {k for k, j in enumerate(loop.carried) if outputs[j] in active}
            if more <= flow:
                return frozenset(flow)
            flow |= more

    def _carries(self, flow: Collection[int]) -> list[int]:
        return [k for k in range(self.loop.carries) if k in flow]

    def _kind(self, inside: Inside, k: int) -> Callable[[str, Tracer], Tracer]:
        entry = k < self.loop.carries + self.loop.sequences
        return inside.entry if entry else inside.same

    def _opened(
        self, args: Sequence[Tracer], flat: Tracer
    ) -> tuple[Inside, dict[str, Tracer]]:
        """A round that is given what each round of the loop was, by label."""
        inside, values = Inside(self.loop.body.name), dict[str, Tracer]()
        before = self._before(args, flat)
        for k, (n, x) in enumerate(zip(self.loop.inputs, args, strict=True)):
            label = n.attrs[0]
            if k < self.loop.carries:
                values[label] = inside.entry(label, before[k])
            else:
                values[label] = self._kind(inside, k)(label, x)
        return inside, values

    def _before(self, args: Sequence[Tracer], flat: Tracer) -> list[Tracer]:
        """What each carry was before each entry, as a sequence."""
        loop, rounds = self.loop, _rounds(self.loop, args)
        parts, own = parts_of(loop, flat, rounds), kept(loop)
        after = {k: parts[n] for k, n in own.items()}
        for carries in _by_dtype(loop, after.keys()):
            more = _with_stacks(loop, carries)
            stacks = parts_of(more, _call(more, args), rounds)
            after |= dict(zip(carries, stacks, strict=True))
        found: list[Tracer] = []
        for k in range(loop.carries):
            first = reshape(args[k], (1, *args[k].shape))
            order = (after[k], first) if loop.reverse else (first, after[k])
            both = concat(order, axis=0)
            found.append(slice_axis(both, 0, int(loop.reverse), rounds))
        return found


def _by_dtype(loop: Loop, but: Collection[int]) -> list[list[int]]:
    """The carries beside these, those of one dtype together."""
    found: dict[DType, list[int]] = {}
    for k in range(loop.carries):
        if k not in but:
            found.setdefault(loop.of(k).dtype, []).append(k)
    return list(found.values())


__all__ = ["Rounds", "keeping", "left"]
